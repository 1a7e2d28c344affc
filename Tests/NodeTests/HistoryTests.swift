import ControlAPI
import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// `tree.history` shows what another author overwrote, and `tree.restore` writes it again.
    @Suite struct HistoryTests {
        /// Somebody else in the workspace, whose every write is later than what he has seen.
        private final class Other {
            let key = SigningKey()
            private let peer: HostilePeer
            private var ms = HostilePeer.nowMs + 5000

            var uid: String { UID.text(key.publicKey) }

            init(_ node: TestNode) throws { peer = try HostilePeer.greeted(node, key: key) }

            /// Writes, and waits until the node has looked at it.
            func set(_ path: Path, _ value: Value, before: UInt64 = 0) throws {
                ms += 1
                let entry = try Entry(path: path, hlc: HLC(ms: ms - before), author: key.publicKey, value: value)
                try peer.send(.bundles([Bundle(signing: [entry], by: key, workspace: Workspace.open.id)]))
                try peer.synchronise()
            }

            func set(_ path: String, _ json: JSON) throws { try set(Path(parsing: path), json.value()) }
        }

        private func history(_ client: LineClient, _ path: String, _ more: JSONObject = [:]) throws -> [HistoryRow] {
            var params: JSONObject = ["path": .string(path)]
            for member in more.members { params[member.key] = member.value }
            let rows = try client.call("tree.history", .object(params))["history"]?.array ?? []
            return try rows.map(HistoryRow.init(json:))
        }

        private func restore(_ client: LineClient, _ path: String, _ id: String) throws -> JSON {
            try client.call("tree.restore", ["path": .string(path), "id": .string(id)])
        }

        /// Two nodes: both show who had it when, and what one puts back is back on both.
        @Test func whoHadItAndBackAgain() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            let (atA, atB) = (try a.client(), try b.client())
            try atB.waitForPerson(UID.text(a.uid), "anna online") { $0["state"]?.string == "online" }
            func wait(_ client: LineClient, _ value: JSON) throws {
                try client.call("tree.observe", ["path": "apps/x", "events": ["value"]])
                try client.event("\(value)") { $0["path"]?.string == "apps/x" && $0["value"] == value }
            }
            try atA.set("apps/x", ["by": "anna"])
            try wait(atB, ["by": "anna"])
            #expect(try history(atB, "apps/x").map(\.isLive) == [true])
            try atB.set("apps/x", 5)
            try wait(atA, 5)
            for client in [atA, atB] {
                let rows = try history(client, "/apps/x/")
                #expect(rows.count == 2)
                let (live, dead) = (try #require(rows.first), try #require(rows.last))
                #expect(live.isLive && live.value == 5 && live.path == "apps/x" && live.within == nil)
                #expect(live.author == UID.text(b.uid) && live.authorName == "bert")
                #expect(dead.value == ["by": "anna"] && dead.author == UID.text(a.uid) && dead.authorName == "anna")
                #expect(dead.death?.uid == live.author && dead.death?.name == "bert")
                #expect(dead.death?.at == live.writtenAt && dead.writtenAt <= live.writtenAt)
                let diedAt = try #require(dead.death?.diedAt)
                // The clock of entries may be a second ahead.
                #expect(diedAt + 1100 >= live.writtenAt && diedAt <= Int64(HostilePeer.nowMs))
            }
            let id = try #require(try history(atA, "apps/x").last?.id)
            let answer = try HistoryRow(json: restore(atB, "apps/x", String(id.prefix(6))))
            #expect(answer.id == id && answer.value == ["by": "anna"] && answer.path == "apps/x")
            #expect(try atB.value("apps/x") == ["by": "anna"])
            #expect(try history(atB, "apps/x").first?.author == UID.text(b.uid), "bert wrote it again")
            try wait(atA, ["by": "anna"])
            try atA.waitUntilEqual(peers: 1)
            #expect(try atA.root() == atB.root())
            // His own 5 was bert's to overwrite.
            #expect(try history(atA, "apps/x").count == 2)
        }

        @Test func aboveAndBelow() async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            try client.set("demo/p", ["x": ["y": 1], "z": 2])
            try client.set("demo/p/x/w", "deep")
            try other.set("demo", ["q": 1])
            let at = try history(client, "demo/p/x/y")
            #expect(at.map(\.value) == [.null, 1] && at.map(\.within) == ["demo", "demo/p"])
            #expect(at.map(\.path) == ["demo/p/x/y", "demo/p/x/y"])
            #expect(at.map(\.author) == [other.uid, UID.text(node.uid)])
            let above = try history(client, "demo/p").filter { !$0.isLive }
            #expect(Set(above.map(\.path)) == ["demo/p", "demo/p/x/w"])
            #expect(try history(client, "").count { !$0.isLive } == 2, "the root shows all")
            #expect(try history(client, "demo/none").map(\.isLive) == [true], "what held nothing there is not shown")
            #expect(try history(client, "elsewhere").isEmpty)
            // Restored at a path is what is shown there, and no more.
            _ = try restore(client, "demo/p/x/y", at[1].id)
            #expect(try client.value("demo") == ["p": ["x": ["y": 1]], "q": 1])
            let deep = try #require(above.first { $0.path == "demo/p/x/w" })
            _ = try restore(client, "demo", deep.id)
            #expect(try client.value("demo/p") == ["x": ["w": "deep", "y": 1]])
            // The latest writers below a path are told, too.
            let live = try history(client, "demo").filter(\.isLive)
            #expect(live.first?.author == other.uid && live.dropFirst().allSatisfy { $0.author == UID.text(node.uid) })
        }

        @Test func removedThingsComeBack() async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            let general = try #require(try client.call("channel.list")["channels"]?[0]?["key"]?.string)
            try client.call("channel.topic", ["channel": "#general", "topic": "what anna wants"])
            try other.set("channels/\(general)/topic", .null)
            let rows = try history(client, "channels/\(general)/topic")
            #expect(rows.map(\.value) == [.null, "what anna wants"])
            _ = try restore(client, "channels/\(general)", rows[1].id)
            #expect(try client.call("channel.list")["channels"]?[0]?["topic"]?.string == "what anna wants")
            // Now the other's removal is what was overwritten; to restore it is to remove again.
            let topic = "channels/\(general)/topic"
            let removal = try #require(try history(client, topic).first { $0.author == other.uid })
            #expect(removal.value == .null && !removal.isLive)
            _ = try restore(client, topic, removal.id)
            #expect(try client.value(topic) == .null)
            // What has an owner has no history: its owner alone can have changed it.
            let key = try client.send(message: "first")
            try client.call("message.edit", ["key": .string(key), "text": "second"])
            #expect(try history(client, "channels/\(general)/messages/\(key)").allSatisfy(\.isLive))
        }

        /// Two who set one thing at the same time: the one who lost finds his in the history.
        @Test func concurrentOnesAreKept() async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            try client.set("demo/x", "anna's")
            try other.set(Path(parsing: "demo/x"), .string("too late"), before: 60_000)
            let rows = try history(client, "demo/x")
            #expect(rows.map(\.value) == ["anna's", "too late"] && rows.last?.author == other.uid)
        }

        @Test func additionsAndPriorities() async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            let place = try Path(parsing: "demo/n")
            let id = AutoID(hlc: HLC(ms: HostilePeer.nowMs), author: other.key.publicKey)
            try other.set(place, .integer(10))
            try other.set(try #require(place.appending(.addition(id))), .integer(5))
            try other.set(try #require(place.appending(.priority)), .string("high"))
            try client.set("demo/n", 1)
            let rows = try history(client, "demo/n")
            #expect(Set(rows.map(\.path)) == ["demo/n", "demo/n/.priority"])
            let addition = try #require(rows.first { $0.value == [".sv": ["increment": 5]] })
            let priority = try #require(rows.first { $0.path == "demo/n/.priority" })
            #expect(addition.path == "demo/n" && priority.value == "high")
            _ = try restore(client, "demo/n", addition.id)
            #expect(try client.value("demo/n") == 6, "it counts again, now as anna's")
            _ = try restore(client, "demo/n", priority.id)
            #expect(try client.value("demo/n") == 6)
            #expect(try history(client, "demo/n").contains { $0.isLive && $0.path == "demo/n/.priority" })
        }

        @Test func refusals() async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            func refusal(_ path: String, _ id: JSON) throws -> String {
                try client.refusal("tree.restore", ["path": .string(path), "id": id])
            }
            for number in 0..<20 { try client.set("demo/\(number)", .int(Int64(number))) }
            try other.set("demo", .null)
            let rows = try history(client, "demo").filter { !$0.isLive }
            #expect(rows.count == 20)
            let full = try #require(rows.first?.id)
            // One digit of sixteen for twenty ids: some digit stands for two.
            let firsts = Dictionary(grouping: rows, by: { $0.id.prefix(1) })
            let shared = try #require(firsts.first { $0.value.count > 1 }?.key)
            let before = try client.root()
            #expect(try refusal("demo", .string(String(shared))) == "ambiguous_name")
            // Ids go on in hexadecimal digits beyond what a row shows.
            for id in ["", "no", full + "g", String(repeating: "0", count: 65), "ä", "-", "0x12"] {
                #expect(try refusal("demo", .string(id)) == "not_found", "\(id)")
            }
            #expect(try refusal("elsewhere", .string(full)) == "not_found")
            #expect(try refusal("demo/x/y", .string(full)) == "not_found", "it held nothing there")
            #expect(try refusal("demo", 5) == "invalid_params" && refusal("demo", .null) == "invalid_params")
            #expect(try refusal("a//b", .string(full)) == "invalid_path")
            for limit in [0, -1, 1001] as [JSON] {
                #expect(try client.refusal("tree.history", ["path": "demo", "limit": limit]) == "invalid_params")
            }
            // Two digits may be the beginning of a row's id.
            let nobody: JSON = ["path": "demo", "before": .string(String(repeating: "0", count: 64))]
            #expect(try client.refusal("tree.history", nobody) == "not_found")
            #expect(try client.refusal("tree.history", ["path": "a.b"]) == "invalid_path")

            // All checks of a write hold: what he had in it of his own, anna may not write.
            let place = "channels/-Mabcdefghijklmnopqr/messages/-Mabcdefghijklmnopqs"
            try other.set(place, ["text": "his", "reactions": [other.uid: ["x": true]]])
            try client.set(place, ["text": "hers"])
            let his = try #require(try history(client, place).last { !$0.isLive })
            let root = try client.root()
            #expect(try refusal(place, .string(his.id)) == "permission_denied")
            #expect(try client.root() == root && root != before)
        }

        @Test func pages() async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            // 55 that are shown, more than one answer holds, and five that are too large to be.
            var values = JSONObject()
            for number in 0..<55 {
                values.append("\(number)", .string("\(number) " + String(repeating: "x", count: 60_000)))
            }
            for members in [values.members.prefix(30), values.members.dropFirst(30)].map(Array.init) {
                try client.call(
                    "tree.update", ["path": "demo/a", "values": .object(JSONObject(members: members))])
            }
            let large = String(repeating: "y", count: 70_000)
            for number in 0..<5 { try client.set("demo/b/\(number)", .string("\(number) \(large)")) }
            try other.set("demo", .null)

            let first = try client.call("tree.history", ["path": "demo", "limit": 1000])
            #expect(first.serialized.count < 3 << 20 && first["before"] != nil)
            var rows = try (first["history"]?.array ?? []).map(HistoryRow.init(json:))
            #expect(rows.first?.isLive == true)
            var before = first["before"]
            while let next = before {
                let page = try client.call("tree.history", ["path": "demo", "limit": 7, "before": next])
                let more = try (page["history"]?.array ?? []).map(HistoryRow.init(json:))
                #expect(more.count <= 7 && more.allSatisfy { !$0.isLive })
                rows += more
                before = page["before"]
            }
            #expect(Set(rows.map(\.id)).count == 61 && rows.count == 61)
            #expect(rows.count { $0.tooLarge ?? 0 > 70_000 && $0.value == nil } == 5)
            let row = try #require(rows.first { $0.path == "demo/b/3" })
            let answer = try HistoryRow(json: restore(client, "demo/b", row.id))
            #expect(answer.value == nil && answer.tooLarge == row.tooLarge)
            #expect(try client.value("demo/b/3").string == "3 \(large)")
        }

        /// Whatever the history shows, restored, is what stands there.
        @Test(arguments: 0..<3) func whatIsRestoredIsThere(seed: UInt64) async throws {
            let node = try await TestNode("anna")
            let (client, other) = (try node.client(), try Other(node))
            var random = SplitMix(seed)
            let paths = ["demo", "demo/a", "demo/a/b", "demo/a/b/c", "demo/d", "demo/1", "demo/a/1"]
            let values: [JSON] = [.null, 1, 2.5, "text", true, ["b": ["c": 3]], ["a": ["b": 4, "1": "x"]], ["d": 7]]
            var restored = 0
            for step in 0..<120 {
                let (path, value) = (random.element(paths), random.element(values))
                switch random.below(3) {
                case 0: try client.set(path, value)
                case 1: try other.set(path, value)
                default:
                    let rows = try history(client, path).filter { !$0.isLive }
                    guard !rows.isEmpty else { continue }
                    let row = random.element(rows)
                    let answer = try HistoryRow(json: restore(client, path, row.id))
                    #expect(answer == row, "seed \(seed), step \(step)")
                    #expect(try client.value(row.path) == row.value, "seed \(seed), step \(step)")
                    restored += 1
                }
            }
            #expect(restored > 10)
        }

        /// SplitMix64.
        private struct SplitMix {
            private var state: UInt64

            init(_ seed: UInt64) { state = seed }

            mutating func below(_ bound: Int) -> Int {
                state &+= 0x9E37_79B9_7F4A_7C15
                var z = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
                z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
                return Int((z ^ (z >> 31)) >> 33) % bound
            }

            mutating func element<T>(_ items: [T]) -> T { items[below(items.count)] }
        }
    }
}
