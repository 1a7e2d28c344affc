internal import Glibc

/// The one buffer into which every socket of a loop reads, so that an idle connection costs no memory for input.
@safe
struct ReadBuffer: ~Copyable {
    enum Outcome {
        /// What has arrived, never empty.
        case bytes([UInt8])
        /// The other side has finished sending.
        case end
        /// Nothing now.
        case wouldBlock
        case failed(errno: Int32)
    }

    /// One read takes at most this much: large enough that a bulk transfer costs few system calls, small enough to stay
    /// in the second-level cache.
    static let size = 64 * 1024

    private let memory: UnsafeMutableRawBufferPointer

    init() {
        unsafe memory = .allocate(byteCount: Self.size, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// One recv(2). Does not block, whatever the descriptor's mode.
    func receive(from descriptor: Int32) -> Outcome {
        while true {
            let count = unsafe recv(descriptor, memory.baseAddress, memory.count, Int32(MSG_DONTWAIT))
            if count > 0 { return unsafe .bytes([UInt8](memory[..<count])) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case let error: return .failed(errno: error)
            }
        }
    }
}
