import ControlAPI
import Lab
@testable import Node
@testable import Store
import Testing
import Tree

extension NodeTests {
    /// What clients leave to be written when their connection ends.
    @Suite struct DisconnectTests {
        /// However a client ends.
        enum Ending: CaseIterable {
            /// As a killed program does.
            case close
            /// It has nothing more to say, but reads on.
            case endSending
            /// The daemon ends with the client attached.
            case daemonStops
            /// It is sent events and does not read.
            case dropped
        }

        private func onDisconnect(_ client: LineClient, _ path: String, _ op: String, _ value: JSON = .null) throws {
            try client.call("tree.onDisconnect", ["path": .string(path), "op": .string(op), "value": value])
        }

        /// Whatever was left is written together, seen elsewhere as an ordinary write, and never again.
        @Test(arguments: Ending.allCases) func firesOnceHoweverTheClientEnds(ending: Ending) async throws {
            let home = try TestHome()
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", home: home, peers: [a])
            let (remote, client) = (try a.client(), try b.client())
            try client.set("apps/s", ["set": 1, "removed": 1, "below": ["x": 1, "y": 1], "kept": 1])
            try client.waitUntilEqual(peers: 1)
            try remote.call("tree.observe", ["path": "apps/s"])
            try remote.event("what there is") { $0["event"]?.string == "value" }
            let before = Int64(HostilePeer.nowMs)
            try onDisconnect(client, "apps/s/set", "set", ["at": [".sv": "timestamp"]])
            try onDisconnect(client, "apps/s/removed", "remove")
            try onDisconnect(client, "apps/s/below", "update", ["x": .null, "z/deep": "new"])
            #expect(try client.value("apps/s/set") == 1)

            switch ending {
            case .close: client.close()
            case .endSending: client.endSending()
            case .daemonStops: await b.stop()
            case .dropped:
                let writer = try b.client()
                try client.call("tree.observe", ["path": "free/x", "events": ["value"]])
                let text = String(repeating: "z", count: 500_000)
                for number in 0..<19 { try writer.set("free/x", .string("\(number)\(text)")) }
            }
            var seen: [String] = []
            let value = try remote.event("one value for all of it") { event in
                if let key = event["key"]?.string { seen.append("\(event["event"]?.string ?? "") \(key)") }
                return event["event"]?.string == "value"
            }["value"]
            #expect(seen == ["child_removed removed", "child_changed below", "child_changed set"])
            #expect(value?["below"] == ["y": 1, "z": ["deep": "new"]])
            #expect(value?["removed"] == nil && value?["kept"] == 1)
            let at = try #require(value?["set"]?["at"]?.int)
            #expect(at >= before - 1000)

            // Neither the start of the daemon nor another client's end does it again.
            if ending != .daemonStops {
                try b.client().close()
                await b.stop()
            }
            let again = try await TestNode("bert", home: home, peers: [a])
            let client2 = try again.client()
            try client2.waitUntilEqual(peers: 1)
            #expect(try client2.value("apps/s/set/at").int == at)
            #expect(try remote.value("apps/s/set/at").int == at)
        }

        /// A daemon that died has left what its clients had left; its next start carries it out, once, whoever has
        /// written there since.
        @Test func theNextStartCarriesOutWhatADeadDaemonLeft() async throws {
            let home = try TestHome()
            let first = try await TestNode("anna", home: home)
            try first.client().set("apps/s", ["a": 1, "b": 1])
            await first.stop()
            let store = try DatabaseStore(path: home.file("workspace.db"))
            func key(_ path: String) throws -> PathKey { PathKey(try Path(parsing: path)) }
            try store.changeDisconnectWrites(
                of: 3, removing: [],
                adding: [key("apps/s/a"): Array(#"{".sv":"timestamp"}"#.utf8), key("apps/s/b"): Array("null".utf8)])
            // One that is refused keeps nothing else back.
            try store.changeDisconnectWrites(
                of: 5, removing: [], adding: [key("users/x/name"): Array("1".utf8), key("apps/s/c"): Array("2".utf8)])
            store.close()
            let second = try await TestNode("anna", home: home)
            let client = try second.client()
            let at = try #require(try client.value("apps/s/a").int)
            #expect(try client.value("apps/s") == ["a": .int(at), "c": 2])
            #expect(second.logLines("was refused").count == 1)
            try client.set("apps/s", "later")
            await second.stop()
            let third = try await TestNode("anna", home: home)
            #expect(try third.client().value("apps/s") == "later")
            await third.stop()
            let after = try DatabaseStore(path: home.file("workspace.db"))
            #expect(try after.disconnectWrites() == [])
            after.close()
        }

        /// What is stored for the case that the daemon dies is what is left, at any time.
        @Test func whatIsLeftIsOnDiskWhenItIsAnswered() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            func stored() async throws -> [String] {
                try await node.node.storedDisconnects().map { "\($0.path.path.map { "\($0)" } ?? "") \($0.text)" }
            }
            try onDisconnect(client, "apps/a", "set", ["b": 1])
            try onDisconnect(client, "apps/c", "remove")
            #expect(try await stored() == [#"apps/a {"b":1}"#, "apps/c null"])
            try onDisconnect(client, "apps/a/d", "set", 2)
            try client.call("tree.cancelOnDisconnect", ["path": "apps/c"])
            #expect(try await stored() == [#"apps/a {"b":1,"d":2}"#])
            try client.call("tree.cancelOnDisconnect", ["path": "apps/a/b"])
            #expect(try await stored() == ["apps/a/d 2"])
            try client.call("tree.cancelOnDisconnect", ["path": ""])
            #expect(try await stored() == [])
            try onDisconnect(client, "apps/a", "set", 1)
            client.close()
            let other = try node.client()
            try other.call("tree.observe", ["path": "apps/a"])
            try other.event("it is written") { $0["value"]?.int == 1 }
            #expect(try await stored() == [])
        }

        /// What the store cannot take in waits, and is carried out once it can.
        @Test func whatCannotBeWrittenWaits() async throws {
            let node = try await TestNode("anna")
            let (client, watcher) = (try node.client(), try node.client())
            try client.set("apps/a", 1)
            try onDisconnect(client, "apps/a", "remove")
            try watcher.call("tree.observe", ["path": "apps/a"])
            try watcher.event("before") { $0["value"]?.int == 1 }
            try await node.node.makeStore(readOnly: true)
            client.close()
            try await node.waitForLog("has to wait")
            #expect(try watcher.value("apps/a") == 1)
            try await node.node.makeStore(readOnly: false)
            await node.node.carryOutWhatIsLeft()
            try watcher.event("after") { $0["value"] == .null }
            #expect(try await node.node.storedDisconnects().isEmpty)
        }

        /// A clean cancel leaves nothing; a client's end is no other client's.
        @Test func cancelledAndOthers() async throws {
            let node = try await TestNode("anna")
            let (client, other, watcher) = (try node.client(), try node.client(), try node.client())
            try client.set("apps", ["a": 1, "b": 1, "c": 1])
            try onDisconnect(client, "apps/a", "remove")
            try onDisconnect(client, "apps/b", "remove")
            try onDisconnect(other, "apps/c", "remove")
            try client.call("tree.cancelOnDisconnect", ["path": "apps/a"])
            try watcher.call("tree.observe", ["path": "apps", "events": ["child_removed"]])
            client.close()
            #expect(try watcher.event("b goes")["key"]?.string == "b")
            #expect(try watcher.value("apps") == ["a": 1, "c": 1])
            other.close()
            #expect(try watcher.event("c goes")["key"]?.string == "c")
        }

        /// A write that would be refused is refused when it is left, with the same reason.
        @Test func refusedAsTheWriteItselfWouldBe() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let other = String(repeating: "-", count: 43)
            let large = JSON.string(String(repeating: "x", count: 1 << 20))
            let writes: [(path: String, op: String, value: JSON)] = [
                ("users/\(other)/displayName", "set", "x"), ("users/\(other)/displayName", "remove", .null),
                ("", "set", 1), ("presence/\(UID.text(node.uid))", "set", "x"), ("a//b", "set", 1),
                ("a/.b", "remove", .null), ("apps/x", "set", ["a.b": 1]), ("apps/x", "set", large),
                ("apps", "update", ["a": 1, "a/b": 2]), ("apps", "update", ["a.b": 1]), ("apps", "update", 5),
                ("users", "update", .object(["\(other)/displayName": "x"])), ("apps/x", "set", [".sv": "nonsense"]),
            ]
            for (path, op, value) in writes {
                let values: JSON = ["path": .string(path), op == "update" ? "values" : "value": value]
                let refusal = try client.refusal("tree.\(op)", values)
                #expect(refusal != "none", "\(op) \(path)")
                let left: JSON = ["path": .string(path), "op": .string(op), "value": value]
                #expect(try client.refusal("tree.onDisconnect", left) == refusal, "\(op) \(path)")
            }
            #expect(try client.refusal("tree.onDisconnect", ["path": "apps", "op": "push"]) == "invalid_params")
            #expect(try client.refusal("tree.onDisconnect", ["path": "apps"]) == "invalid_params")
            #expect(try client.refusal("tree.cancelOnDisconnect", ["path": "a//b"]) == "invalid_path")
            #expect(try await node.node.storedDisconnects().isEmpty)
            // Each would do, but not both in one: 6,000 priorities are more entries than an update has.
            func ranked() -> JSON {
                let members = (0..<3000).map {
                    JSONObject.Member(key: "\($0)", value: [".value": 1, ".priority": 1])
                }
                return .object(JSONObject(members: members))
            }
            try onDisconnect(client, "apps/joined", "set", ["a": 1])
            try onDisconnect(client, "apps/joined/b", "set", ranked())
            let second: JSON = ["path": "apps/joined/c", "op": "set", "value": ranked()]
            #expect(try client.refusal("tree.onDisconnect", second) == "too_large")
            // Trying has changed nothing.
            #expect(try client.value("apps") == .null)
        }

        @Test func bounded() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var members: [JSONObject.Member] = []
            for number in 0..<1024 { members.append(.init(key: "\(number)", value: 1)) }
            try onDisconnect(client, "apps/many", "update", .object(JSONObject(members: members)))
            #expect(try client.refusal("tree.onDisconnect", ["path": "apps/x", "op": "remove"]) == "quota")
            try onDisconnect(client, "apps/many/7", "set", 2)
            let large: JSON = .string(String(repeating: "x", count: 500_000))
            let params: JSON = ["path": "apps", "op": "set", "value": large]
            var clients: [LineClient] = []
            for _ in 0..<16 {
                let other = try node.client()
                try other.call("tree.onDisconnect", params)
                #expect(
                    try other.refusal("tree.onDisconnect", ["path": "free", "op": "set", "value": large]) == "quota")
                clients.append(other)
            }
            #expect(try node.client().refusal("tree.onDisconnect", params) == "quota")
            // In place of what was left before there is room.
            #expect(try client.refusal("tree.onDisconnect", ["path": "apps", "op": "remove"]) == "none")
        }
    }
}

extension Node {
    /// What the store keeps of what clients have left.
    func storedDisconnects() throws -> [(path: PathKey, text: String)] {
        try store.disconnectWrites().map { ($0.path, String(decoding: $0.content, as: UTF8.self)) }
    }

    /// Has every write fail, as on a file system that was remounted.
    func makeStore(readOnly: Bool) throws { try store.database.execute("PRAGMA query_only=\(readOnly ? 1 : 0)") }
}
