/// What is told that a descriptor is ready. Called on the loop's thread only.
protocol DescriptorHandler: AnyObject {
    /// `events` is a set of ``Readiness`` bits.
    func descriptorReady(_ events: UInt32)
    /// The loop is about to end: close what is open.
    func loopStopped()
}

/// The handlers of all watched descriptors. A token names a slot and its generation, so an event that was fetched
/// before its descriptor was closed finds nobody, even if the slot is in use again.
struct WatchTable {
    private struct Slot {
        var handler: (any DescriptorHandler)?
        var generation: UInt32
    }

    private var slots: [Slot] = []
    private var free: [UInt32] = []

    mutating func insert(_ handler: any DescriptorHandler) -> UInt64 {
        if let index = free.popLast() {
            slots[Int(index)].handler = handler
            return token(index)
        }
        // Bounded by the process's descriptors, far below 2^32.
        slots.append(Slot(handler: handler, generation: 0))
        return token(UInt32(slots.count - 1))
    }

    mutating func remove(_ token: UInt64) {
        guard let index = index(of: token) else { return }
        slots[index].handler = nil
        slots[index].generation &+= 1
        free.append(UInt32(index))
    }

    func handler(_ token: UInt64) -> (any DescriptorHandler)? {
        index(of: token).flatMap { slots[$0].handler }
    }

    var all: [any DescriptorHandler] {
        slots.compactMap(\.handler)
    }

    private func token(_ index: UInt32) -> UInt64 {
        UInt64(slots[Int(index)].generation) << 32 | UInt64(index)
    }

    private func index(of token: UInt64) -> Int? {
        let index = Int(UInt32(truncatingIfNeeded: token))
        guard index < slots.count, slots[index].generation == UInt32(truncatingIfNeeded: token >> 32) else {
            return nil
        }
        return index
    }
}
