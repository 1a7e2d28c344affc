import ControlAPI

/// How slow this run is: tests that say how long something may take say it for a debug build on an idle machine, and
/// mean so many times longer under a sanitizer or beside other programs.
enum Pace {
    /// What the standard work takes there, in microseconds.
    private static let standardUs: UInt64 = 4000

    /// So many times slower than that this run is, at least 1.
    private static let factor: UInt64 = {
        let text = "[" + String(repeating: #"{"key":"value","number":17},"#, count: 400) + "0]"
        var bestNs = UInt64.max
        for _ in 0..<3 {
            let start = Deadline.nowNs
            for _ in 0..<4 { _ = try? JSON.parse(text) }
            bestNs = min(bestNs, Deadline.nowNs - start)
        }
        return max(1, bestNs / 1000 / standardUs)
    }()

    /// A time for an idle machine as a time for this run.
    static func ms(_ idleMs: UInt64) -> UInt64 { idleMs * factor }
    static func ns(_ idleMs: UInt64) -> UInt64 { ms(idleMs) * 1_000_000 }
}
