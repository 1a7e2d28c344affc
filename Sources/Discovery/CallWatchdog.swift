internal import Dispatch
internal import Glibc
internal import Synchronization

/// Notices from outside that the discovery thread is stuck in a call.
///
/// A timer runs only while there are calls, so an idle process is not woken.
final class CallWatchdog: Sendable {
    /// Calls take a few milliseconds; this long means that nobody answers.
    static let timeoutMs: Int64 = 5_000

    private struct State {
        /// When the present call began, on the monotonic clock.
        var beganMs: Int64?
        var isReported = false
        var isArmed = false
    }

    private let state = Mutex(State())
    private let onHang: @Sendable () -> Void

    /// - Parameter onHang: called on a queue of the system, once for each call that takes too long, while the call
    ///   cannot end: whatever the thread says about it comes later.
    init(onHang: @escaping @Sendable () -> Void) {
        self.onHang = onHang
    }

    /// Makes a call that may hang.
    func watch<Result>(_ call: () -> Result) -> Result {
        let mustArm = state.withLock { state in
            state.beganMs = monotonicMs()
            state.isReported = false
            defer { state.isArmed = true }
            return !state.isArmed
        }
        if mustArm {
            arm(afterMs: Self.timeoutMs)
        }
        defer { state.withLock { $0.beganMs = nil } }
        return call()
    }

    private func arm(afterMs: Int64) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(afterMs))) { [weak self] in
            self?.check()
        }
    }

    private func check() {
        let leftMs: Int64? = state.withLock { state in
            guard let beganMs = state.beganMs, !state.isReported else {
                state.isArmed = false
                return nil
            }
            let leftMs = beganMs + Self.timeoutMs - monotonicMs()
            guard leftMs <= 0 else {
                return leftMs
            }
            state.isReported = true
            state.isArmed = false
            onHang()
            return nil
        }
        if let leftMs {
            arm(afterMs: leftMs)
        }
    }
}

/// Milliseconds of CLOCK_MONOTONIC (clock_gettime(2)).
func monotonicMs() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
