import ControlAPI
import Foundation
import Lab

/// The examples of a documentation page, written as "Examples on these pages" of ClientAPI.md says.
struct PageExamples {
    enum Step: Equatable {
        /// A line for the daemon: a whole message, or a method and its parameters.
        case request(String)
        /// A line from the daemon: a whole message, a result, `error` or `event` with what it holds.
        case answer(String)
        /// A command, on whose machine (nil: one's own), and what it prints.
        case command(String, machine: String?, output: [String])
    }

    struct Block: Equatable {
        /// Line of its first fence, from 1.
        let line: Int
        var steps: [Step] = []
    }

    private(set) var blocks: [Block] = []

    var stepCount: Int { blocks.reduce(0) { $0 + $1.steps.count } }

    /// The text of a page of the documentation.
    static func page(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).appending(path: "../../../../Sources/Starling.docc/\(name).md")
        return try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
    }

    /// - Throws: `LabError` for a block that is none of both kinds or cannot be read, and for a page without examples.
    init(of page: String) throws {
        var open: (kind: Substring, block: Block)?
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                if let (_, block) = open {
                    guard line == "```", !block.steps.isEmpty else {
                        throw LabError("line \(index + 1): an empty block")
                    }
                    blocks.append(block)
                    open = nil
                } else {
                    let kind = line.dropFirst(3)
                    guard kind == "json" || kind == "sh" else { throw LabError("line \(index + 1): no kind \(kind)") }
                    open = (kind, Block(line: index + 1))
                }
            } else if open != nil {
                let isRead = open?.kind == "sh" ? open?.block.readShell(line) : open?.block.readMessage(line)
                guard isRead == true else { throw LabError("line \(index + 1) of an example: \(line)") }
            } else if line.hasPrefix("    ") || line.contains("~~~") {
                throw LabError("line \(index + 1): an example that nobody executes: \(line)")
            }
        }
        guard open == nil, !blocks.isEmpty else { throw LabError("no examples, or one without an end") }
        for block in blocks {
            for case .answer(let text) in block.steps { _ = try Pattern(message: text) }
        }
    }
}

extension PageExamples.Block {
    /// A line of a conversation; one that is indented goes on with the line before it.
    fileprivate mutating func readMessage(_ line: Substring) -> Bool {
        if line.hasPrefix("→ ") {
            steps.append(.request(String(line.dropFirst(2))))
        } else if line.hasPrefix("← ") {
            steps.append(.answer(String(line.dropFirst(2))))
        } else if line.hasPrefix(" ") {
            let rest = line.drop { $0 == " " }
            switch steps.popLast() {
            case .request(let text): steps.append(.request("\(text) \(rest)"))
            case .answer(let text): steps.append(.answer("\(text) \(rest)"))
            default: return false
            }
        } else {
            return false
        }
        return true
    }

    /// A line of a shell's session: a command behind `$ ` or `NAME$ `, its other lines behind `> `, or what it prints.
    fileprivate mutating func readShell(_ line: Substring) -> Bool {
        if let sign = line.range(of: "$ "), line[..<sign.lowerBound].allSatisfy(\.isLetter) {
            let machine = line[..<sign.lowerBound]
            let command = String(line[sign.upperBound...])
            steps.append(.command(command, machine: machine.isEmpty ? nil : String(machine), output: []))
            return true
        }
        guard case .command(let command, let machine, let output)? = steps.popLast() else { return false }
        if line.hasPrefix("> ") {
            guard output.isEmpty else { return false }
            steps.append(.command(command + "\n" + line.dropFirst(2), machine: machine, output: []))
        } else {
            steps.append(.command(command, machine: machine, output: output + [String(line)]))
        }
        return true
    }
}

/// What an answer must look like: text, with `…` for what differs from run to run.
struct Pattern {
    /// The members that surround a short form: `{"jsonrpc":"2.0","id":…,"result":`.
    enum Form { case whole, result, error, event }

    let form: Form
    let text: String
    private let expression: NSRegularExpression

    /// A message in one of its forms. Spaces between its parts do not count; `…` in a string is any text, elsewhere a
    /// number, a string, true, false or null.
    init(message: String) throws {
        var rest = message[...]
        if rest.hasPrefix("error ") {
            form = .error
        } else if rest.hasPrefix("event ") {
            form = .event
        } else {
            form = message.contains(#""jsonrpc""#) ? .whole : .result
        }
        if form == .error || form == .event { rest = rest.dropFirst(6) }
        var (pattern, plain) = ("^", "")
        var (isInString, isEscaped) = (false, false)
        for character in rest {
            if character == "…" {
                pattern += isInString ? #"[^"]*"# : #"(?:"[^"]*"|[^"\[\]{},]+)"#
                // No name twice, wherever it stands in one.
                plain += isInString ? "\(plain.count)" : "0"
                continue
            }
            if !isInString, character == " " { continue }
            pattern += NSRegularExpression.escapedPattern(for: String(character))
            plain.append(character)
            if character == "\"", !isEscaped { isInString.toggle() }
            isEscaped = character == "\\" && !isEscaped
        }
        do throws(JSONError) {
            _ = try JSON.parse(plain)
        } catch {
            throw LabError("an answer that is no JSON (\(error)): \(message)")
        }
        text = String(rest)
        expression = try NSRegularExpression(pattern: pattern + "$")
    }

    /// What a command prints; `…` is any text within a line, and on a line of its own one line or more.
    init(output: [String]) throws {
        form = .whole
        text = output.joined(separator: "\n")
        let lines = output.map { line in
            guard line != "…" else { return #"[^\n]*(?:\n[^\n]*)*"# }
            let parts = line.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
            return parts.joined(separator: #"[^\n]+"#)
        }
        expression = try NSRegularExpression(pattern: "^" + lines.joined(separator: "\n") + "$")
    }

    func matches(_ text: String) -> Bool {
        expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }
}
