/// A body that an ``EventLoop`` runs once at a given time, unless it is cancelled before.
///
/// Letting go of the timer does not cancel it.
///
/// `@unchecked Sendable`: `heapIndex` is touched on the loop's thread only; the rest is immutable or behind a lock.
public final class LoopTimer: @unchecked Sendable {
    /// CLOCK_MONOTONIC time from which on the body may run, in nanoseconds.
    let deadlineNs: UInt64
    /// Decides between equal deadlines: the one scheduled first runs first.
    let sequence: UInt64
    /// Where it stands in the loop's heap; nil while it is in none.
    var heapIndex: Int?

    private let loop: EventLoop
    private let body: Lock<(@Sendable () -> Void)?>

    init(loop: EventLoop, deadlineNs: UInt64, sequence: UInt64, body: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.deadlineNs = deadlineNs
        self.sequence = sequence
        self.body = Lock(body)
    }

    /// Called on the loop: the body never runs after this. Called elsewhere: it may be running right now.
    /// Releases the body. Does nothing when the timer has fired or was cancelled.
    public func cancel() {
        guard takeBody() != nil else { return }
        if loop.isOnLoop {
            loop.forget(self)
        } else {
            loop.execute { [self] in loop.forget(self) }
        }
    }

    var isCancelled: Bool {
        body.withLock { $0 == nil }
    }

    /// The body, handed out once.
    func takeBody() -> (@Sendable () -> Void)? {
        body.withLock { body in
            defer { body = nil }
            return body
        }
    }

    func isBefore(_ other: LoopTimer) -> Bool {
        (deadlineNs, sequence) < (other.deadlineNs, other.sequence)
    }
}
