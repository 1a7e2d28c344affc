import Foundation

/// The files of this repository, as they lie beside the test's own source.
struct Repository: Sendable {
    struct File: Sendable {
        /// From the top of the repository, with `/`.
        let path: String
        let text: String
        /// Swift with comments and the contents of strings blanked; empty for other files.
        let code: String

        init(path: String, text: String) {
            self.path = path
            self.text = text
            code = path.hasSuffix(".swift") ? SwiftCode(text).text : ""
        }

        var isSwift: Bool { path.hasSuffix(".swift") }
    }

    static let shared = Repository(top: URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL)

    let topEntries: [String]
    /// Everything readable as UTF-8 in Sources, Tests and .ci, and the files at the top.
    let files: [File]

    var swift: [File] { files.filter(\.isSwift) }

    init(top: URL) {
        let manager = FileManager.default
        topEntries = ((try? manager.contentsOfDirectory(atPath: top.path)) ?? []).sorted()
        var paths = topEntries.filter { $0 != ".git" && $0 != ".build" }
        for folder in ["Sources", "Tests", ".ci"] {
            let below = manager.enumerator(atPath: top.appending(path: folder).path)
            while let name = below?.nextObject() as? String { paths.append("\(folder)/\(name)") }
        }
        files = paths.sorted().compactMap { path in
            guard let text = try? String(contentsOf: top.appending(path: path), encoding: .utf8) else { return nil }
            return File(path: path, text: text)
        }
    }
}
