/// How long files and functions are.
enum Lengths {
    static let fileLinesMax = 400
    static let functionLinesMax = 70

    /// Files that are one thing and longer; each with its reason.
    static let longFiles: [String: String] = [:]

    static func violations(_ file: Repository.File) -> [String] {
        var found: [String] = []
        let path = file.path
        let count = file.text.utf8.count { $0 == UInt8(ascii: "\n") }
        if count > fileLinesMax, longFiles[path] == nil {
            found.append("\(path): \(count) lines; is it one thing?")
        }
        for function in functions(in: file.code) where function.lines > functionLinesMax {
            found.append("\(path):\(function.start): a function of \(function.lines) lines")
        }
        return found
    }

    struct Function: Equatable {
        /// Line of its `func` or `init`, from 1.
        let start: Int
        /// Lines of its body, with both braces.
        let lines: Int
    }

    /// Every function whose body opens with a brace at the end of a line, in blanked code.
    static func functions(in code: String) -> [Function] {
        var found: [Function] = []
        var opened: [(depth: Int, start: Int, line: Int)] = []
        var waiting: Int?
        var depth = 0
        for (number, line) in code.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
            if words.contains("func") || words.contains("deinit") || declaresInitializer(line) { waiting = number + 1 }
            for byte in line.utf8 {
                if byte == UInt8(ascii: "{") {
                    if let start = waiting { opened.append((depth, start, number + 1)) }
                    waiting = nil
                    depth += 1
                } else if byte == UInt8(ascii: "}") {
                    depth -= 1
                    if let last = opened.last, last.depth == depth {
                        opened.removeLast()
                        found.append(Function(start: last.start, lines: number + 2 - last.line))
                    }
                }
            }
        }
        return found
    }

    private static func declaresInitializer(_ line: Substring) -> Bool {
        let trimmed = line.drop { $0 == " " }
        let words = trimmed.split(separator: " ")
        return words.contains { $0.hasPrefix("init(") || $0.hasPrefix("init?(") || $0.hasPrefix("init<") }
            && !trimmed.hasPrefix("self.") && !trimmed.hasPrefix(".")
    }
}
