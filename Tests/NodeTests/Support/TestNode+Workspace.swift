import ControlAPI
import Foundation
import Net
import Node
import Seal

extension TestNode {
    /// Stops the node and starts it anew in its home, with its name and port, as the daemon does by itself.
    func restarted(_ change: (inout NodeOptions) -> Void = { _ in }) async throws -> TestNode {
        await stop()
        return try await startedAgain(change)
    }

    /// The same for one that has stopped.
    func startedAgain(_ change: (inout NodeOptions) -> Void = { _ in }) async throws -> TestNode {
        try await TestNode("", home: home) { options in
            options.name = nil
            options.listen = SocketAddress("127.0.0.1:\(port)")
            change(&options)
        }
    }

    /// A node in a private workspace `team` that it has made.
    static func founded(_ name: String) async throws -> TestNode {
        let node = try await TestNode(name)
        try node.client().call("workspace.create", ["name": "team"])
        return try await node.restarted()
    }

    /// A node in the workspace of an invite. It knows nobody's address but those in it.
    static func joined(_ name: String, _ invite: String) async throws -> TestNode {
        let node = try await TestNode(name)
        try node.client().call("workspace.join", ["invite": .string(invite)])
        return try await node.restarted()
    }

    func invite() throws -> String {
        guard let link = try client().call("workspace.invite")["link"]?.string else { throw TestFailure("no invite") }
        return link
    }

    /// The present key of a private workspace, as its file has it.
    func networkKey() throws -> String {
        let text = try String(contentsOfFile: home.file("workspace.key"), encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("key ") }
        guard let line else { throw TestFailure("no key") }
        return String(line.dropFirst(4))
    }

    func key() throws -> Bytes32 {
        guard let key = Bytes32(hex: try networkKey()) else { throw TestFailure("no key") }
        return key
    }

    func workspaceID() throws -> Bytes32 {
        guard let id = try client().call("workspace.show")["id"]?.string.flatMap({ Bytes32(hex: $0) }) else {
            throw TestFailure("no workspace")
        }
        return id
    }
}
