internal import Glibc

/// The system's words for an error number.
func errorText(_ number: Int32) -> String {
    guard let text = unsafe strerror(number) else { return "error \(number)" }
    return unsafe String(cString: text)
}

/// A point in time on a clock that nobody sets (clock_gettime(2), CLOCK_MONOTONIC).
struct Deadline {
    private let atMs: Int64?

    /// - Parameter timeoutMs: from now; nil for never.
    init(timeoutMs: Int?) {
        atMs = timeoutMs.map { Self.nowMs() &+ Int64(max(0, min($0, 1 << 40))) }
    }

    /// What poll(2) takes: milliseconds left, 0 when it has passed, -1 for never.
    var pollMs: Int32 {
        guard let atMs else { return -1 }
        return Int32(max(0, min(atMs - Self.nowMs(), Int64(Int32.max))))
    }

    var hasPassed: Bool { pollMs == 0 }

    private static func nowMs() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
