import Foundation
import Lab

/// A shell in a terminal on a host, with tmux(1) in between to see what is on the screen.
final class TmuxTerminal {
    private let server: LabProcess
    private let machine: Machine
    private let socket: String

    init(_ machine: Machine, in folder: String) async throws {
        self.machine = machine
        socket = "\(folder)/tmux-\(machine.name)"
        server = try machine.spawn(["tmux", "-D", "-f", "/dev/null", "-S", socket], environment: ["TERM": "xterm"])
        try await eventually("tmux runs", within: .seconds(20)) { [socket] in
            FileManager.default.fileExists(atPath: socket)
        }
        try await tmux("new-session", "-d", "-x", "80", "-y", "24", "env", "PS1=$ ", "ENV=", "sh")
        try await shows("$")
    }

    @discardableResult
    private func tmux(_ words: String...) async throws -> String {
        let result = try await machine.spawn(["tmux", "-S", socket] + words).finish()
        guard result.status == 0 else { throw LabError("tmux \(words): \(result.err)") }
        return result.out
    }

    func type(_ text: String, enter: Bool = true) async throws {
        try await tmux("send-keys", "-l", text)
        if enter { try await tmux("send-keys", "Enter") }
    }

    var screen: String {
        get async throws { try await tmux("capture-pane", "-p") }
    }

    func shows(_ text: String, within limit: Duration = .seconds(10)) async throws {
        var last = ""
        do {
            try await eventually("the terminal shows it", within: limit) {
                last = try await screen
                return last.contains(text)
            }
        } catch {
            throw LabError("the terminal of \(machine.name) does not show \(text.debugDescription):\n\(last)")
        }
    }
}
