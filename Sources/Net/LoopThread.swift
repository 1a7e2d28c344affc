internal import CPosix
internal import Glibc

/// A POSIX thread of its own, for what blocks or runs for ever: nothing of that belongs on Swift's shared pool.
enum LoopThread {
    /// Enough for any callback and for getaddrinfo's plug-ins, and a sixteenth of the default.
    static let stackSize = 512 * 1024

    private final class Box {
        let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }
    }

    /// Starts a joinable thread that runs `body` with every signal blocked, and returns its identifier.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(NetError) -> pthread_t {
        let context = unsafe Unmanaged.passRetained(Box(body))
        var thread: UInt64 = 0
        let error = unsafe starling_thread_start(
            &thread, name, stackSize,
            { context in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
            }, context.toOpaque())
        guard error == 0 else {
            unsafe context.release()
            throw NetError(errno: error, operation: "pthread_create")
        }
        return pthread_t(thread)
    }
}
