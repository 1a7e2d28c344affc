internal import Glibc

/// The mark of how far a message of one's own has come. Told apart by shape, not by colour.
struct StatusMark: Sendable, Equatable {
    /// Nothing while nobody else holds it.
    static let waiting = StatusMark(count: 0)
    /// Another node holds it.
    static let held = StatusMark(count: 1)
    /// Somebody has read it.
    static let read = StatusMark(count: 2)

    /// Columns that any of them takes.
    static let columns = 2

    /// Marks beside each other.
    private let count: Int

    /// As text of ``columns`` columns.
    ///
    /// - isPlain: without anything that an old terminal may lack.
    func text(isPlain: Bool) -> String {
        String(repeating: " ", count: Self.columns - count) + String(repeating: isPlain ? "+" : "✓", count: count)
    }

    /// Whether the terminal may lack a tick: the kernel's console, and locales that are not UTF-8 (locale(7)).
    static func isPlainTerminal(_ variable: (String) -> String?) -> Bool {
        if variable("TERM") == "linux" { return true }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        // A session without any locale, as of a service or a bare ssh, says nothing about its terminal.
        guard !locale.isEmpty else { return false }
        let charset = locale.split(separator: ".").dropFirst().first?.split(separator: "@").first ?? ""
        return !["utf8", "utf-8"].contains(charset.lowercased())
    }

    /// Of this process.
    static func isPlainTerminal() -> Bool {
        isPlainTerminal { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }
}
