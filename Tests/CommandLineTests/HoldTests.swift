import ControlAPI
import Foundation
import Lab
import Testing

/// `starling tree hold`, and what clients leave for their end, with programs that are really killed.
@Suite(.serialized, .showsLogs)
struct HoldTests {
    /// Waits until a value is what it should be.
    private func awaitValue(_ path: String, on machine: Machine, isWanted: (JSON) -> Bool) async throws {
        try await eventually("\(path) is as it should be", within: .seconds(20)) {
            isWanted(try await machine.row("tree", "get", path))
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [SIGKILL, SIGTERM, SIGINT])
    func aHeldValueEndsWithItsCommand(signal: Int32) async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let watch = try bob.follow("tree", "watch", "demo", "--json")
        let hold = try ann.follow("tree", "hold", "demo/lamp", "true", "--json")
        #expect(try await hold.output.nextLine() == "{}")
        let row = try await watch.nextRow { $0["event"] == "child_added" }
        #expect(row["key"] == "lamp" && row["value"] == true)
        hold.kill(signal)
        let removed = try await watch.nextRow { $0["event"] == "child_removed" }
        #expect(removed["key"] == "lamp")
        let then = try ann.follow("tree", "hold", "demo/lamp", "true", "--then", "{\"off\":[1,2]}", "--json")
        #expect(try await then.output.nextLine() == "{}")
        then.kill(signal)
        try await awaitValue("demo/lamp", on: bob) { $0 == ["off": [1, 2]] }
    }

    /// The daemon is killed with the command still there: its next start removes the value, and only that one.
    @Test(.timeLimit(.minutes(1))) func aKilledDaemonCatchesUpOnce() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await bob.startLocally()
        try await ann.startLocally(knowing: bob)
        try await meet(ann, bob)
        let hold = try ann.follow("tree", "hold", "demo/lamp", "true", "--json")
        let stamp = try ann.follow(
            "tree", "hold", "demo/at", "0", "--then", "{\".sv\":\"timestamp\"}", "--json")
        for command in [hold, stamp] { #expect(try await command.output.nextLine() == "{}") }
        try await awaitValue("demo", on: bob) { $0 == ["at": 0, "lamp": true] }
        try await ann.crash()
        // Without its daemon the command cannot go on, and says so.
        for command in [hold, stamp] { #expect(try await command.wait() == 1) }
        #expect(try await bob.row("tree", "get", "demo") == ["at": 0, "lamp": true])
        let before = Int64(Date().timeIntervalSince1970 * 1000)
        try await ann.startLocally(knowing: bob)
        let value = try await ann.row("tree", "get", "demo")
        #expect(value["lamp"] == nil)
        let at = try #require(value["at"]?.int)
        // The time at which it was written, not the one at which it was left.
        #expect(at >= before - 1000)
        try await awaitValue("demo", on: bob) { $0 == ["at": .int(at)] }
        try await ann.crash()
        try await ann.startLocally(knowing: bob)
        #expect(try await ann.row("tree", "get", "demo") == ["at": .int(at)])
        try await ann.stop()
    }

    /// An orderly end of the daemon is the end of its clients, and the others hear of it at once.
    @Test(.timeLimit(.minutes(1))) func theDaemonsEndIsItsClientsEnd() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await bob.startLocally()
        try await ann.startLocally(knowing: bob)
        try await meet(ann, bob)
        let hold = try ann.follow("tree", "hold", "demo/lamp", "true", "--json")
        #expect(try await hold.output.nextLine() == "{}")
        try await awaitValue("demo", on: bob) { $0 == ["lamp": true] }
        try await ann.stop()
        try await awaitValue("demo", on: bob) { $0 == .null }
        #expect(try await hold.wait() == 1)
    }

    @Test(.timeLimit(.minutes(1))) func whatCannotBeHeld() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let uid = String(repeating: "-", count: 43)
        let denied = try await ann.starling("tree", "hold", "users/\(uid)/displayName", "\"x\"")
        #expect(denied.status == 5)
        #expect(try await ann.starling("tree", "hold", "demo", "nonsense").status == 2)
        #expect(try await ann.starling("tree", "hold", "demo", "1", "--then", "nonsense").status == 2)
        // What could not be set is not removed in the end either.
        _ = try await ann.row("tree", "set", "demo/x", "1")
        let invalid = try await ann.starling("tree", "hold", "demo/x", "{\"a.b\":1}")
        #expect(invalid.status == 1)
        #expect(try await ann.row("tree", "get", "demo/x") == 1)
        #expect(try await ann.row("tree", "get", ".info/connected") == false)
    }
}
