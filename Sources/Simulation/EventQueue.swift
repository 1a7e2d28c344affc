/// What happens when, in order of time, and of insertion where times are equal.
struct EventQueue<Event> {
    /// Small, because the heap moves it about; the event itself stays where it is.
    private struct Item {
        let atMs: UInt64
        let order: UInt64
        let slot: Int

        func precedes(_ other: Item) -> Bool { atMs != other.atMs ? atMs < other.atMs : order < other.order }
    }

    private var heap: [Item] = []
    private var slots: [Event?] = []
    private var free: [Int] = []
    private var inserted: UInt64 = 0

    var nextMs: UInt64? { heap.first?.atMs }

    mutating func insert(_ event: Event, atMs: UInt64) {
        inserted += 1
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(event) } else { slots[slot] = event }
        let item = Item(atMs: atMs, order: inserted, slot: slot)
        heap.append(item)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard item.precedes(heap[parent]) else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = item
    }

    mutating func removeFirst() -> (atMs: UInt64, event: Event)? {
        guard let first = heap.first, let event = slots[first.slot] else { return nil }
        slots[first.slot] = nil
        free.append(first.slot)
        let last = heap.removeLast()
        if !heap.isEmpty { sink(last) }
        return (first.atMs, event)
    }

    /// Puts an item where it belongs, beginning at the top, whose own item has gone.
    private mutating func sink(_ item: Item) {
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(item) else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = item
    }
}
