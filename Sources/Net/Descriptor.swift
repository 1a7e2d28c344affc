internal import Glibc

/// An open file descriptor that is closed exactly once: when its only owner lets go of it.
struct Descriptor: ~Copyable {
    let number: Int32

    /// Takes ownership of `number`, which must be open (not negative).
    init(owning number: Int32) {
        self.number = number
    }

    /// Takes ownership of what a system call returned, or reports the call's errno.
    init(_ result: Int32, operation: String) throws(NetError) {
        guard result >= 0 else { throw NetError.current(operation) }
        self.init(owning: result)
    }

    deinit {
        // Not repeated after EINTR: on Linux the descriptor is gone even then (close(2)).
        close(number)
    }
}
