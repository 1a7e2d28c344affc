internal import Glibc
internal import Synchronization

/// What callers want of the discovery thread, and the descriptor that wakes it. Nothing here blocks.
final class Mailbox: Sendable {
    /// Instances remembered for resolving while the thread hangs; more than there are links.
    static let instancesMax = 256

    struct Wishes {
        var mustStop = false
        var mustRescan = false
        var mustRebuild = false
        var isConnected: Bool?
        var port: UInt16?
        var txt: [UInt8]?
        var instances: [String] = []

        /// The wishes as inputs, those that make others unnecessary first.
        var inputs: [DiscoveryMachine.Input] {
            var inputs: [DiscoveryMachine.Input] = []
            port.map { inputs.append(.updatePort($0)) }
            txt.map { inputs.append(.updateTXT($0)) }
            isConnected.map { inputs.append(.setConnected($0)) }
            if mustRebuild {
                inputs.append(.rebuild)
            } else if mustRescan {
                inputs.append(.rescan)
            }
            return inputs + instances.map { .resolveAgain($0) }
        }
    }

    private let wishes = Mutex(Wishes())
    /// Readable when there are wishes.
    let wakeDescriptor: Int32
    private let writeDescriptor: Int32

    /// Nil when the system has no more descriptors.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            return nil
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wakeDescriptor = ends[0]
        writeDescriptor = ends[1]
    }

    deinit {
        close(wakeDescriptor)
        close(writeDescriptor)
    }

    /// Adds to the wishes and wakes the thread.
    func add(_ change: @Sendable (inout Wishes) -> Void) {
        wishes.withLock { change(&$0) }
        var byte: UInt8 = 0
        // A full pipe wakes just as well.
        _ = unsafe write(writeDescriptor, &byte, 1)
    }

    /// Adds an instance to resolve again.
    func add(instance: String) {
        add { wishes in
            if wishes.instances.count < Self.instancesMax, !wishes.instances.contains(instance) {
                wishes.instances.append(instance)
            }
        }
    }

    /// Takes all wishes. For the discovery thread.
    func take() -> Wishes {
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe read(wakeDescriptor, &bytes, bytes.count) > 0 {}
        return wishes.withLock { wishes in
            defer { wishes = Wishes() }
            return wishes
        }
    }
}
