internal import Glibc

/// Times as people write them on a command line.
enum TimeWord {
    /// Milliseconds since 1970 of `2026-11-30`, `2026-11-30T12:00`, `2026-11-30T12:00:30` by the user's clock, with a
    /// `Z` at the end by UTC; or of how long ago something was: `30s`, `90m`, `2h`, `3d`, `1w`. Nil for anything else.
    static func milliseconds(_ word: String, nowMs: Int64) -> Int64? {
        if let span = span(word) { return max(0, nowMs - span) }
        return date(word)
    }

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]

    /// Milliseconds of a duration as `90m` or `3d`; nil for anything else.
    static func span(_ word: String) -> Int64? {
        guard let unit = word.last.flatMap({ units[$0] }), let count = number(word.dropLast()[...], digits: 1...6)
        else {
            return nil
        }
        return Int64(count) * unit * 1_000
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    private static func date(_ word: String) -> Int64? {
        let isUTC = word.last == "Z"
        let halves = (isUTC ? word.dropLast() : word[...]).split(
            separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard let day = numbers(halves[0], "-", digits: [4, 2, 2]) else { return nil }
        var clock = [0, 0, 0]
        if halves.count == 2 {
            guard let given = numbers(halves[1], ":", digits: [2, 2]) ?? numbers(halves[1], ":", digits: [2, 2, 2])
            else { return nil }
            clock = given.count == 2 ? given + [0] : given
        } else if isUTC {
            return nil
        }
        return milliseconds(day + clock, isUTC: isUTC)
    }

    private static func numbers(_ text: Substring, _ separator: Character, digits: [Int]) -> [Int]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == digits.count else { return nil }
        let numbers = zip(parts, digits).compactMap { number($0, digits: $1...$1) }
        return numbers.count == digits.count ? numbers : nil
    }

    /// Year, month, day, hour, minute, second. The C library corrects what is no date: that is refused.
    private static func milliseconds(_ parts: [Int], isUTC: Bool) -> Int64? {
        guard parts.count == 6, parts[0] >= 1970 else { return nil }
        let numbers = parts.map { Int32(truncatingIfNeeded: $0) }
        var time = unsafe tm()
        unsafe (time.tm_year, time.tm_mon, time.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        unsafe (time.tm_hour, time.tm_min, time.tm_sec) = (numbers[3], numbers[4], numbers[5])
        unsafe time.tm_isdst = -1
        let seconds = isUTC ? unsafe timegm(&time) : unsafe mktime(&time)
        // An hour that the clocks leave out in spring becomes another: that is no mistake.
        let isDate = unsafe time.tm_mon == numbers[1] - 1 && time.tm_mday == numbers[2]
        let isClock = numbers[3] < 24 && numbers[4] < 60 && numbers[5] < 60
        return isDate && isClock && seconds >= 0 ? Int64(seconds) * 1_000 : nil
    }
}
