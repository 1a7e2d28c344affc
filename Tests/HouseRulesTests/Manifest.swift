import Foundation

/// The targets of Package.swift as its text declares them, in its order.
struct Manifest {
    private(set) var order: [String] = []
    private(set) var dependencies: [String: Set<String>] = [:]
    /// Targets by the folder their sources are in, where that is not below `Sources` or `Tests` and of the same name.
    private(set) var folders: [String: String] = [:]

    init(_ text: String) {
        let pattern = #"\.(systemLibrary|target|executableTarget|testTarget)\(\s*name:\s*"([^"]+)""#
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return }
        for match in expression.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
            guard let head = Range(match.range, in: text), let word = Range(match.range(at: 2), in: text) else {
                continue
            }
            let name = String(text[word])
            order.append(name)
            let rest = Self.untilClosed(text[head.upperBound...])
            dependencies[name] = Self.dependencies(in: rest)
            if let folder = Self.folder(in: rest) { folders[folder] = name }
        }
    }

    /// `Tests/TreeTests/Path/A.swift` → `TreeTests`; nil for a file that belongs to no folder of a target.
    func target(of path: String) -> String? {
        let parts = path.split(separator: "/")
        guard parts.count > 2 else { return nil }
        return folders["\(parts[0])/\(parts[1])"] ?? String(parts[1])
    }

    private static func folder(in text: Substring) -> String? {
        guard let start = text.range(of: "path: \"") else { return nil }
        return String(text[start.upperBound...].prefix { $0 != "\"" })
    }

    /// Up to the parenthesis that closes one opened before.
    private static func untilClosed(_ text: Substring) -> Substring {
        var depth = 1
        return text.prefix { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return depth > 0
        }
    }

    private static func dependencies(in text: Substring) -> Set<String> {
        guard let start = text.range(of: "dependencies:"),
            let open = text[start.upperBound...].firstIndex(of: "["),
            let close = text[open...].firstIndex(of: "]")
        else { return [] }
        let quoted = text[open..<close].split(separator: "\"", omittingEmptySubsequences: false)
        return Set(quoted.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) })
    }
}
