internal import Glibc

/// A point in time as the user's clock shows it.
struct LocalTime: Sendable, Equatable {
    var year: Int
    var month: Int
    var day: Int
    /// 0 is Sunday.
    var weekday: Int
    var hour: Int
    var minute: Int

    /// - Parameter milliseconds: since 1970; beyond the calendar's range it is taken as 1970.
    init(milliseconds: Int64) {
        var seconds = time_t(milliseconds / 1_000)
        var parts = unsafe tm()
        if unsafe localtime_r(&seconds, &parts) == nil { unsafe parts = tm() }
        year = unsafe Int(parts.tm_year) + 1900
        month = unsafe Int(parts.tm_mon) + 1
        day = unsafe Int(parts.tm_mday)
        weekday = unsafe Int(parts.tm_wday)
        hour = unsafe Int(parts.tm_hour)
        minute = unsafe Int(parts.tm_min)
    }

    /// As `14:03`.
    var clock: String { Self.two(hour) + ":" + Self.two(minute) }

    /// As `Tuesday, 4 March 2025`.
    var date: String { "\(Self.weekdays[weekday % 7]), \(day) \(Self.months[(month - 1) % 12]) \(year)" }

    /// As `2025-03-04 14:03`.
    var stamp: String { "\(year)-\(Self.two(month))-\(Self.two(day)) \(clock)" }

    func isSameDay(as other: LocalTime) -> Bool {
        (year, month, day) == (other.year, other.month, other.day)
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    private static func two(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    /// Milliseconds since 1970 now.
    static func nowMs() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// Sizes and spans in words.
enum Words {
    /// As `12 min`, of a span of milliseconds.
    static func span(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1_000)
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3_600) h"
        default: return "\(seconds / 86_400) d"
        }
    }

    /// As `5.2 MB`.
    static func bytes(_ count: Int64) -> String {
        var (size, unit) = (Double(count), 0)
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        while size >= 1_000, unit < units.count - 1 {
            size /= 1_000
            unit += 1
        }
        return unit == 0 ? "\(count) bytes" : "\(rounded(size)) \(units[unit])"
    }

    /// With one digit behind the point below ten, none above.
    static func rounded(_ value: Double) -> String {
        guard value.magnitude < 1e15 else { return "\(value)" }
        let tenths = Int64((value * 10).rounded())
        guard tenths.magnitude < 100 else { return "\(Int64(value.rounded()))" }
        return tenths % 10 == 0
            ? "\(tenths / 10)" : "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
    }

    /// As `1 entry` or `3 entries`.
    static func count(_ number: Int64, _ one: String, _ many: String) -> String {
        number == 1 ? "1 \(one)" : "\(number) \(many)"
    }
}
