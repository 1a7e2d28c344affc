internal import Tree

/// All subscriptions by number, and which of them a change concerns: it costs what it touches, however many others
/// there are.
struct SubscriptionTable {
    private var all: [Int: Subscription] = [:]
    private var index = ObserverIndex()
    private var windows: [FollowedWindow.Key: FollowedWindow] = [:]
    /// Who follows a window.
    private(set) var followers: Set<Int> = []
    private(set) var channels: Set<Int> = []
    private(set) var people: Set<Int> = []
    private(set) var info: Set<Int> = []
    private(set) var notices: Set<Int> = []
    private(set) var progress: Set<Int> = []

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }

    subscript(number: Int) -> Subscription? { all[number] }

    /// The window that is followed by this key, if there is one.
    func window(_ key: FollowedWindow.Key) -> FollowedWindow? { windows[key] }

    /// Bytes of all windows as JSON.
    var windowBytes: Int { windows.values.reduce(0) { $0 + $1.observation.windowBytes } }

    mutating func insert(_ number: Int, _ subscription: Subscription) {
        all[number] = subscription
        switch subscription.kind {
        case .window(let window):
            followers.insert(number)
            index.insert(number, at: window.observation.path)
            windows[window.key] = window
            window.followers += 1
        case .channels: channels.insert(number)
        case .people: people.insert(number)
        case .info: info.insert(number)
        case .notices: notices.insert(number)
        case .progress: progress.insert(number)
        }
    }

    mutating func remove(_ number: Int) {
        guard let subscription = all.removeValue(forKey: number) else { return }
        switch subscription.kind {
        case .window(let window):
            followers.remove(number)
            index.remove(number, at: window.observation.path)
            window.followers -= 1
            if window.followers == 0 { windows[window.key] = nil }
        case .channels: channels.remove(number)
        case .people: people.remove(number)
        case .info: info.remove(number)
        case .notices: notices.remove(number)
        case .progress: progress.remove(number)
        }
    }

    /// Changes what a subscription keeps.
    mutating func update(_ number: Int, _ kind: Subscription.Kind) { all[number]?.kind = kind }

    /// The observers of the tree that a change of these paths may concern, in the order in which they are told.
    func observers(of changed: [Path]) -> [Int] { index.observers(of: changed) }
}
