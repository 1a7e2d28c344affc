import ControlAPI
import Foundation
import Lab

/// Carries out the examples of a page, in order: conversations with a daemon over its socket, and commands in a shell.
final class PageRun {
    private let ann: Machine
    private let bob: Machine
    private var shells: [String: LabProcess] = [:]
    /// What was not as the page says.
    private(set) var differences: [String] = []

    /// Two machines that are connected: the reader's, and one that the pages call bob's.
    init() async throws {
        ann = try Machine("ann", variables: PageRun.variables)
        bob = try Machine("bob", variables: PageRun.variables)
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
    }

    /// The places that somebody has who has configured nothing.
    private static func variables(_ folder: String) -> [String: String] {
        [
            "HOME": folder, "XDG_RUNTIME_DIR": folder + "/run", "XDG_DATA_HOME": folder + "/data",
            "XDG_STATE_HOME": folder + "/state", "STARLING_HOME": "",
        ]
    }

    func carryOut(_ page: PageExamples) async throws {
        for block in page.blocks {
            do {
                if case .command? = block.steps.first {
                    try await session(block)
                } else {
                    try await conversation(block)
                }
            } catch {
                differences.append("example in line \(block.line): \(error)")
            }
        }
    }

    // MARK: Shells

    private func session(_ block: PageExamples.Block) async throws {
        for case .command(let command, let machine, let output) in block.steps {
            guard machine == nil || machine == "bob" else { throw LabError("nobody is called \(machine ?? "")") }
            if machine != nil { try await converge(ann, bob) }
            let printed = try await run(command, on: machine == nil ? ann : bob)
            if machine != nil { try await converge(ann, bob) }
            guard try !Pattern(output: output).matches(printed) else { continue }
            let expected = output.joined(separator: "\n")
            differences.append(
                "example in line \(block.line): \(command)\nprints\n\(printed)\nand not\n\(expected)")
        }
    }

    private static let end = "the-command-has-ended"

    /// What a command prints, in the one shell that each machine has.
    private func run(_ command: String, on machine: Machine) async throws -> String {
        let shell = try shells[machine.name] ?? openShell(machine)
        try shell.send(line: "{ \(command)\n} </dev/null 2>&1; printf '\\n%s\\n' \(PageRun.end)")
        var lines: [String] = []
        while true {
            guard let line = try await shell.nextLine(timeout: .seconds(60)) else {
                throw LabError("the shell has ended: \(command)\n\(shell.errors.text)")
            }
            guard line != PageRun.end else { break }
            lines.append(line)
        }
        // The line break before the mark.
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }

    private func openShell(_ machine: Machine) throws -> LabProcess {
        let programs = URL(filePath: try Lab.product("starling")).deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let shell = try machine.spawn(
            ["bash", "--norc", "--noprofile"], environment: ["PATH": "\(programs):\(path)", "LC_ALL": "C.UTF-8"])
        shells[machine.name] = shell
        return shell
    }

    // MARK: Conversations

    /// Each on a connection of its own.
    private func conversation(_ block: PageExamples.Block) async throws {
        let socket = (ann.home ?? "") + "/run/starling/starling.sock"
        let connection = try ann.spawn(["socat", "-", "UNIX-CONNECT:\(socket)"])
        let hello = try await connection.nextLine() ?? ""
        var steps = block.steps[...]
        if case .answer(let text)? = steps.first {
            try compare(hello, Pattern(message: text), block, id: 0)
            steps = steps.dropFirst()
        }
        var numbers = SubscriptionNumbers()
        var (asked, answered) = (0, 0)
        for step in steps {
            switch step {
            case .request(let text):
                asked += 1
                try connection.send(line: numbers.request(text, id: asked))
            case .answer(let text):
                let pattern = try Pattern(message: text)
                if pattern.form != .event { answered += 1 }
                let line = try await connection.nextLine(timeout: .seconds(60)) ?? "nothing more"
                try compare(numbers.shown(line), pattern, block, id: answered)
            case .command: throw LabError("a command within a conversation")
            }
        }
        // What the page does not show did not come.
        try connection.send(line: numbers.request("tree.newKey {}", id: asked + 1))
        let last = try await connection.nextLine() ?? "nothing more"
        if !last.contains(#""id":\#(asked + 1),"result":{"key":"#) {
            differences.append("example in line \(block.line): there comes more: \(last)")
        }
    }

    private func compare(_ line: String, _ pattern: Pattern, _ block: PageExamples.Block, id: Int) throws {
        let whole: (head: String, tail: String)
        switch pattern.form {
        case .whole: whole = ("", "")
        case .result: whole = (#"{"jsonrpc":"2.0","id":\#(id),"result":"#, "}")
        case .error: whole = (#"{"jsonrpc":"2.0","id":\#(id),"error":"#, "}")
        case .event: whole = (#"{"jsonrpc":"2.0","method":"event","params":"#, "}")
        }
        let content = line.dropFirst(whole.head.count).dropLast(whole.tail.count)
        if !line.hasPrefix(whole.head) || !line.hasSuffix(whole.tail) || !pattern.matches(String(content)) {
            differences.append("example in line \(block.line): the daemon says\n\(line)\nand not\n\(pattern.text)")
        }
    }
}

/// Subscriptions as a page numbers them: from 1 in each conversation.
private struct SubscriptionNumbers {
    private var real: [Int64] = []

    /// A request as it goes over the socket.
    func request(_ text: String, id: Int) throws -> String {
        if text.hasPrefix("{") || text.hasPrefix("[") { return text }
        let parts = text.split(separator: " ", maxSplits: 1)
        guard let method = parts.first else { throw LabError("an empty request") }
        var params = try parts.count < 2 ? [:] : JSON.parse(String(parts[1]))
        if case .object(var object) = params, let shown = object["subscription"]?.int,
            real.indices.contains(Int(shown) - 1)
        {
            object["subscription"] = .int(real[Int(shown) - 1])
            params = .object(object)
        }
        let request: JSON = [
            "jsonrpc": "2.0", "id": .int(Int64(id)), "method": .string(String(method)), "params": params,
        ]
        return "\(request)"
    }

    /// A line of the daemon as the page shows it.
    mutating func shown(_ line: String) -> String {
        guard case .object(var message)? = try? JSON.parse(line) else { return line }
        for member in ["result", "params"] {
            guard case .object(var content)? = message[member], let number = content["subscription"]?.int else {
                continue
            }
            if !real.contains(number) { real.append(number) }
            content["subscription"] = .int(Int64((real.firstIndex(of: number) ?? 0) + 1))
            message[member] = .object(content)
        }
        return "\(JSON.object(message))"
    }
}
