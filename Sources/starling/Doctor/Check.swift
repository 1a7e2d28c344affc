internal import ControlAPI

/// One thing that doctor looks at, and what it found.
struct Check: Equatable {
    enum Level: String {
        case ok
        /// It works, and may not go on to, or not for all.
        case warning
        /// It does not work.
        case problem
        /// It cannot be looked at before something else is mended.
        case skipped
    }

    /// A stable word.
    var name: String
    var level: Level
    /// What was seen, and what that means. May hold text from elsewhere.
    var saw: String
    /// Commands or settings that mend it; the first one that fits.
    var mend: [String] = []

    static func ok(_ name: String, _ saw: String) -> Check { Check(name: name, level: .ok, saw: saw) }
    static func skipped(_ name: String, _ saw: String) -> Check { Check(name: name, level: .skipped, saw: saw) }
    static func warning(_ name: String, _ saw: String, _ mend: String...) -> Check {
        Check(name: name, level: .warning, saw: saw, mend: mend)
    }
    static func problem(_ name: String, _ saw: String, _ mend: String...) -> Check {
        Check(name: name, level: .problem, saw: saw, mend: mend)
    }

    var json: JSON {
        [
            "check": .string(name), "level": .string(level.rawValue), "saw": .string(saw),
            "mend": .array(mend.map(JSON.string)),
        ]
    }
}
