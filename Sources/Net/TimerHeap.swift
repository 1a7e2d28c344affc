/// Pending timers, the earliest on top. Timers know their place, so a cancelled one leaves at once: a loop that arms
/// and cancels a timer per message holds no garbage.
struct TimerHeap {
    private var timers: [LoopTimer] = []

    var first: LoopTimer? {
        timers.first
    }

    mutating func insert(_ timer: LoopTimer) {
        timers.append(timer)
        timer.heapIndex = timers.count - 1
        siftUp(from: timers.count - 1)
    }

    mutating func remove(_ timer: LoopTimer) {
        guard let index = timer.heapIndex else { return }
        timer.heapIndex = nil
        let last = timers.removeLast()
        guard index < timers.count else { return }
        timers[index] = last
        last.heapIndex = index
        siftUp(from: index)
        siftDown(from: last.heapIndex ?? index)
    }

    mutating func removeAll() -> [LoopTimer] {
        let all = timers
        timers = []
        for timer in all { timer.heapIndex = nil }
        return all
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard timers[index].isBefore(timers[parent]) else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < timers.count {
                if timers[child].isBefore(timers[least]) { least = child }
            }
            guard least != index else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        timers.swapAt(one, other)
        timers[one].heapIndex = one
        timers[other].heapIndex = other
    }
}
