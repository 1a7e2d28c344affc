internal import ControlAPI
internal import Glibc

/// Writes what happens to standard error, one line an event, for the person who runs the daemon.
///
/// Levels say what a line means: `error` is something this program or its disk did wrong, `warning` something that
/// needs attention, `info` a change of state, `debug` everything else. Lines never contain message text or keys, and
/// every string from outside goes through the same escaper as the terminal.
public struct Log: Sendable {
    public enum Level: String, Sendable, CaseIterable, Comparable {
        case debug, info, warning, error

        private var rank: Int { Level.allCases.firstIndex(of: self) ?? 0 }
        public static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }
    }

    public let level: Level
    private let descriptor: Int32

    public init(level: Level = .info, descriptor: Int32 = 2) {
        self.level = level
        self.descriptor = descriptor
    }

    public func debug(_ text: @autoclosure () -> String) { write(.debug, text()) }
    public func info(_ text: @autoclosure () -> String) { write(.info, text()) }
    public func warning(_ text: @autoclosure () -> String) { write(.warning, text()) }
    public func error(_ text: @autoclosure () -> String) { write(.error, text()) }

    func write(_ level: Level, _ text: @autoclosure () -> String) {
        guard level >= self.level, canWrite else { return }
        let line = "\(Log.timestamp()) \(level.rawValue) \(Escaper.escape(text()))\n"
        var bytes = Array(line.utf8)[...]
        while !bytes.isEmpty {
            // A log that cannot be written must not stop the daemon.
            let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { return }
            bytes = bytes.dropFirst(written)
        }
    }

    /// A pipe that nobody reads fills up; the line is dropped rather than the daemon stopped. A pipe that has any room
    /// takes a line of up to 4,096 bytes whole (pipe(7)).
    private var canWrite: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&state, 1, 0) == 1 && state.revents & Int16(POLLOUT) != 0
    }

    /// UTC to the millisecond, RFC 3339.
    private static func timestamp() -> String {
        let ms = WallClock.milliseconds()
        var seconds = time_t(ms / 1000)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        func pad(_ value: Int, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let (year, month, day) = unsafe (parts.tm_year, parts.tm_mon, parts.tm_mday)
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        let date = "\(Int(year) + 1900)-\(pad(Int(month) + 1, 2))-\(pad(Int(day), 2))"
        let time = "\(pad(Int(hour), 2)):\(pad(Int(minute), 2)):\(pad(Int(second), 2))"
        return "\(date)T\(time).\(pad(Int(ms % 1000), 3))Z"
    }
}

/// How many lines others may cause: enough to see what is going on, too few to fill a disk.
struct LogBudget {
    private static let burst: UInt64 = 200
    private static let perMs: UInt64 = 500
    private var credit = LogBudget.burst
    private var updatedMs: UInt64 = 0
    private var omitted = 0

    /// Whether a line may be written, and how many were left out before it.
    mutating func take(nowMs: UInt64) -> (isAllowed: Bool, omitted: Int) {
        let earned = (nowMs &- min(updatedMs, nowMs)) / LogBudget.perMs
        if earned > 0 {
            credit = min(LogBudget.burst, credit &+ min(earned, LogBudget.burst))
            updatedMs = nowMs
        }
        guard credit > 0 else {
            omitted += 1
            return (false, 0)
        }
        credit -= 1
        defer { omitted = 0 }
        return (true, omitted)
    }
}

/// The machine's wall clock.
enum WallClock {
    /// Milliseconds since 1970; 0 for a clock set before that.
    static func milliseconds() -> UInt64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        guard now.tv_sec >= 0 else { return 0 }
        return UInt64(now.tv_sec) &* 1000 &+ UInt64(max(0, now.tv_nsec)) / 1_000_000
    }

    /// Milliseconds that the machine has slept since it started: CLOCK_BOOTTIME goes on then, CLOCK_MONOTONIC does not
    /// (clock_gettime(2)).
    static func sleptMs() -> UInt64 {
        var (all, awake) = (timespec(), timespec())
        unsafe clock_gettime(CLOCK_BOOTTIME, &all)
        unsafe clock_gettime(CLOCK_MONOTONIC, &awake)
        let ms = (all.tv_sec &- awake.tv_sec) &* 1000 &+ (all.tv_nsec &- awake.tv_nsec) / 1_000_000
        return UInt64(max(0, ms))
    }
}
