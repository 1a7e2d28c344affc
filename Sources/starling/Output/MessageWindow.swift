/// The oldest messages of an observed window.
///
/// When one of the last N messages is deleted, an older one comes into the window and is told as if it were new. On a
/// screen where everything is added at the bottom it must not appear.
struct MessageWindow: Sendable {
    private let limit: Int
    private var count = 0
    private var oldest: String?

    /// - Parameter limit: how many messages the window has.
    init(limit: Int) {
        self.limit = limit
    }

    /// Takes in a message that was there when observing began.
    mutating func add(_ key: String) {
        count += 1
        oldest = min(oldest ?? key, key)
    }

    /// Whether a message was before the window: keys sort by time. A window that was not full has nothing before it.
    func isRefill(_ key: String) -> Bool {
        guard count >= limit, let oldest else { return false }
        return key < oldest
    }
}
