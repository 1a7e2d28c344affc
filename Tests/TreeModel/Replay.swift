package import Tree

/// What an observer knows who has only the events: they are put together again, and must make sense one by one.
package struct Replay {
    package private(set) var children: [QueryWindow.Child] = []
    package private(set) var value: Value?
    /// What an event told that did not fit to those before it.
    package private(set) var nonsense: String?
    package init() {}

    /// The kinds of the change that is being told, to check their order.
    private static let order: [TreeEvent.Kind] = [.childRemoved, .childAdded, .childMoved, .childChanged, .value]

    /// Takes over the events of one change. What they say of siblings holds once all of them have happened: what is
    /// added may stand behind what only moves there.
    package mutating func apply(_ events: [TreeEvent]) {
        var last = 0
        var placed: [Key: TreeEvent] = [:]
        for event in events {
            let place = Replay.order.firstIndex(of: event.kind) ?? 0
            if place < last { nonsense = nonsense ?? "\(event.kind) after \(Replay.order[last])" }
            last = place
            guard let key = event.key else {
                value = event.value
                continue
            }
            let known = placed[key]?.value ?? children.first { $0.key == key }?.value
            switch event.kind {
            case .childRemoved:
                if known != event.value { complain("removed what was not there", event) }
                children.removeAll { $0.key == key }
            case .childAdded:
                if known != nil { complain("added twice", event) }
                placed[key] = event
            default:
                if known == nil { complain("changed what was not there", event) }
                placed[key] = event
            }
        }
        children.removeAll { placed[$0.key] != nil }
        while !placed.isEmpty {
            let next = placed.first { _, event in
                event.previous.map { previous in children.contains { $0.key == previous } } ?? true
            }
            guard let (key, event) = next else {
                return complain("stands behind what is not there", placed.values.first ?? events[0])
            }
            let index = event.previous.flatMap { previous in children.firstIndex { $0.key == previous } }
            children.insert(QueryWindow.Child(key: key, value: event.value), at: index.map { $0 + 1 } ?? 0)
            placed[key] = nil
        }
    }

    private mutating func complain(_ what: String, _ event: TreeEvent) {
        nonsense = nonsense ?? "\(event.kind) \(event.key?.text ?? ""): \(what)"
    }
}
