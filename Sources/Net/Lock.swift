internal import Glibc

/// State behind a POSIX mutex.
///
/// Instead of `Synchronization.Mutex`, whose futex calls the thread sanitizer does not see: it would report every
/// hand-over to the loop as a race, and real ones would drown.
///
/// The state takes some memory: an empty one has the address of the object itself, so that the thread sanitizer takes
/// every use of the object for an access to the state.
@safe
final class Lock<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    init(_ state: sending State) {
        precondition(MemoryLayout<State>.size > 0, "there is nothing to lock")
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        // Fails only for attributes, and there are none (pthread_mutex_init(3)).
        unsafe pthread_mutex_init(mutex, nil)
        self.state = state
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }
}
