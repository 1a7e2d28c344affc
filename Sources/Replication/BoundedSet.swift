/// A set that forgets its oldest members beyond a bound.
struct BoundedSet<Element: Hashable & Sendable>: Sendable {
    private let capacity: Int
    private var members: Set<Element> = []
    private var order: [Element] = []
    private var head = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { members.count }

    func contains(_ element: Element) -> Bool { members.contains(element) }

    /// Returns what is forgotten for it.
    @discardableResult
    mutating func insert(_ element: Element) -> Element? {
        guard members.insert(element).inserted else { return nil }
        order.append(element)
        guard members.count > capacity else { return nil }
        let oldest = order[head]
        members.remove(oldest)
        head += 1
        if head > capacity {
            order.removeFirst(head)
            head = 0
        }
        return oldest
    }
}
