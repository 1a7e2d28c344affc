/// What happens when, in order of time, and of insertion where times are equal.
struct EventQueue<Event> {
    private struct Item {
        let atMs: UInt64
        let order: UInt64
        let event: Event

        func precedes(_ other: Item) -> Bool { atMs != other.atMs ? atMs < other.atMs : order < other.order }
    }

    private var heap: [Item] = []
    private var count: UInt64 = 0

    var nextMs: UInt64? { heap.first?.atMs }

    mutating func insert(_ event: Event, atMs: UInt64) {
        count += 1
        heap.append(Item(atMs: atMs, order: count, event: event))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].precedes(heap[parent]) else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> (atMs: UInt64, event: Event)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            var parent = 0
            while true {
                var least = parent
                for child in [2 * parent + 1, 2 * parent + 2]
                where child < heap.count && heap[child].precedes(heap[least]) {
                    least = child
                }
                if least == parent { break }
                heap.swapAt(parent, least)
                parent = least
            }
        }
        return (first.atMs, first.event)
    }
}
