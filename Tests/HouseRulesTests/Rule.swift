import Foundation
import Testing

/// A pattern that must not occur.
struct Rule: Sendable, CustomTestStringConvertible {
    /// What the pattern is looked for in.
    enum Place: Sendable, Equatable {
        /// Swift with comments and string contents blanked.
        case code
        /// Every byte of a file.
        case everything
    }

    let name: String
    let pattern: String
    var place = Place.code
    /// Which files the rule is about.
    var applies: @Sendable (String) -> Bool = { _ in true }
    /// What breaks the rule, for the rule's own test.
    let offence: String
    /// What looks like it and does not.
    let innocent: String

    var testDescription: String { name }

    /// `path:line: rule` for each offence.
    func violations(_ file: Repository.File) -> [String] {
        let path = file.path
        guard applies(path) else { return [] }
        let searched = place == .code ? file.code : file.text
        guard let expression = try? NSRegularExpression(pattern: pattern, options: .anchorsMatchLines) else {
            return ["\(name): the pattern does not compile"]
        }
        let whole = NSRange(searched.startIndex..., in: searched)
        return expression.matches(in: searched, range: whole).map { match in
            let lines = Range(match.range, in: searched).map { searched[..<$0.lowerBound].utf8.count { $0 == 10 } + 1 }
            return "\(path):\(lines ?? 0): \(name)"
        }
    }
}

extension Rule {
    static let programs: Set = ["starling", "starlingd", "starling-bench"]

    static func isLibrary(_ path: String) -> Bool {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" && !programs.contains(String(parts[1]))
    }

    static func isTest(_ path: String) -> Bool { path.hasPrefix("Tests/") }

    static let all = [
        Rule(
            name: "a trap instead of an error (try!, as!)", pattern: #"\b(try|as)!"#,
            offence: "let a = try! b()", innocent: "let a = try b() // never try! here"),
        Rule(
            name: "fatalError", pattern: #"\bfatalError\s*\("#,
            offence: "fatalError(\"no\")", innocent: "let text = \"fatalError(no)\""),
        Rule(
            name: "a forced unwrapping", pattern: #"[A-Za-z0-9_)\]}?`]!(?![=A-Za-z0-9_(])"#,
            offence: "let a = b[0]!.c", innocent: "if !a, b != c { d = \"!\" }"),
        Rule(
            name: "print in a library", pattern: #"(?<![.\w])(print|debugPrint|dump)\s*\("#, applies: isLibrary,
            offence: "print(a)", innocent: "printer.print(a); fingerprint(a)"),
        Rule(
            name: "a sleeping test", pattern: #"\b(usleep|nanosleep|sleep)\s*\("#, applies: isTest,
            offence: "try await Task.sleep(for: .seconds(1))", innocent: "let sleepers = asleep(a)"),
        Rule(
            name: "a test switched off", pattern: #"\.disabled\s*\(|\bwithKnownIssue\b|\bXCTSkip|#if false"#,
            applies: isTest,
            offence: "@Test(.disabled(\"later\")) func a() {}", innocent: "@Test func disabled() {}"),
        Rule(
            name: "work left for later", pattern: #"\b(TO"# + #"DO|FIX"# + #"ME|XX"# + #"X)\b"#, place: .everything,
            offence: "// TO" + "DO: all of it", innocent: "Noise_XXpsk0, mktemp a.XXXXXX"),
        Rule(
            name: "a path of one machine", pattern: #"(?<![\w}])/(work|root|tmp/h)/|\.\./sha"# + "red",
            place: .everything,
            offence: "cat /ro" + "ot/a", innocent: "Tests/Lab/work/a /roots/"),
        Rule(
            name: "a package host",
            pattern: #"(?i)\b(deb\.debian|pypi|pythonhosted|npmjs|crates|golang)\.(org|io|com)\b"#, place: .everything,
            offence: "curl py" + "pi.org/a", innocent: "swift.org/install"),
        // Types a header defines become the module's that loads it first: files that import Glibc alone then compile or
        // not, as chance has it.
        Rule(
            name: "a header of the C library in a C target's interface", pattern: #"^#include <(?!std)"#,
            place: .everything, applies: { $0.hasPrefix("Sources/C") && $0.contains("/include/") },
            offence: "#include <sys/types.h>", innocent: "#include <stdint.h>\n#include \"A.h\""),
        Rule(
            name: "a line over 120 characters", pattern: "^.{121,}$", place: .everything,
            applies: { $0.hasSuffix(".swift") || $0.hasPrefix(".ci/") || $0 == "Makefile" },
            offence: String(repeating: "a", count: 121), innocent: String(repeating: "é", count: 120)),
        Rule(
            name: "a tab, trailing space or carriage return", pattern: "[ \t\r]+$|^ *\t", place: .everything,
            applies: { $0.hasSuffix(".swift") || $0.hasPrefix(".ci/") },
            offence: "let a = 1 \n", innocent: "let a = 1\n\n"),
    ]
}
