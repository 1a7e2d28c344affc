import Foundation

/// Which target may import which.
enum Layers {
    /// System libraries: each has one importer, which keeps it to itself.
    static let systemLibraries = ["CSodium", "CSQLite", "CDNSSD", "CUTF8Proc", "CQREncode"]

    /// Lowest first: a target imports only what stands before it. Package.swift keeps the same order.
    static let order =
        systemLibraries + [
            "CPosix", "CLimit", "CBOR", "Seal", "Tree", "Wire", "Replication", "Chat", "Store", "Discovery", "Net",
            "ControlAPI", "ControlClient", "Node", "CommandLineKit", "starlingd", "starling", "Simulation",
            "starling-bench",
        ]

    /// What the command line must reach through the socket only, whatever it imports.
    static let behindSocket: Set = ["Node", "Store", "Discovery", "Net", "Replication"]

    /// For tests and measurements; nothing that runs at a user's imports them.
    static let notShipped: Set = ["Simulation", "Lab"]

    /// Modules of the toolchain. Foundation is for tests: it costs the daemon megabytes.
    static let toolchain: Set = ["Swift", "Glibc", "Dispatch", "Synchronization", "FoundationEssentials"]
    static let toolchainForTests: Set = toolchain.union(["Foundation", "Testing"])

    struct Import: Equatable {
        let module: String
        let isPublic: Bool
    }

    static func imports(in code: String) -> [Import] {
        code.split(separator: "\n").compactMap { line in
            var words = line.split(separator: " ").filter { !$0.hasPrefix("@") }
            let access = ["public", "package", "internal", "fileprivate", "private"]
            let isPublic = words.first == "public" || words.first == "package"
            if let first = words.first, access.contains(String(first)) { words.removeFirst() }
            guard words.first == "import", words.count > 1 else { return nil }
            let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
            let name = kinds.contains(String(words[1])) && words.count > 2 ? words[2] : words[1]
            return Import(module: String(name.prefix { $0 != "." && $0 != ";" }), isPublic: isPublic)
        }
    }

    /// What is wrong with the imports of one file.
    static func violations(_ file: Repository.File, _ manifest: Manifest) -> [String] {
        let path = file.path
        guard let target = manifest.target(of: path) else { return [] }
        let declared = manifest.dependencies
        let isTest = path.hasPrefix("Tests/")
        let own = Set(order).union(notShipped).union(declared.keys)
        var found: [String] = []
        for item in imports(in: file.code) {
            let module = item.module.replacing("_", with: "-")
            if !own.contains(module) && !own.contains(item.module) {
                let known = isTest ? toolchainForTests : toolchain
                if !known.contains(item.module) { found.append("\(path): \(item.module) is no module of this package") }
                continue
            }
            let name = own.contains(module) ? module : item.module
            if declared[target]?.contains(name) != true {
                found.append("\(path): Package.swift does not declare that \(target) depends on \(name)")
            }
            if systemLibraries.contains(name), item.isPublic { found.append("\(path): public import of \(name)") }
            if isTest { continue }
            if notShipped.contains(name), target != "starling-bench" { found.append("\(path): \(name) is not shipped") }
            if let here = order.firstIndex(of: target), let there = order.firstIndex(of: name), there >= here {
                found.append("\(path): \(target) stands below \(name)")
            }
        }
        return found
    }

    /// What a target reaches through the declared dependencies.
    static func reach(of target: String, _ declared: [String: Set<String>]) -> Set<String> {
        var reached: Set<String> = []
        var waiting = [target]
        while let next = waiting.popLast() {
            for name in declared[next, default: []] where reached.insert(name).inserted { waiting.append(name) }
        }
        return reached
    }
}
