import ControlAPI
import Foundation
import Glibc
import Lab
@testable import Node
import Testing
import Tree

extension NodeTests {
    /// Clients that are too many, too slow or want too much.
    @Suite struct ClientLimitTests {
        /// A client that observes and never reads is dropped with a word, alone.
        @Test func aClientThatNeverReadsIsDroppedAlone() async throws {
            let node = try await TestNode("anna")
            let (deaf, writer, reader) = (try node.client(), try node.client(), try node.client())
            try deaf.call("tree.observe", ["path": "apps/x", "events": ["value"]])
            try reader.call("tree.observe", ["path": "apps/x", "events": ["value"]])
            let text = String(repeating: "z", count: 500_000)
            for number in 0..<19 {
                try writer.set("apps/x", .string("\(number)\(text)"))
                try reader.event("value \(number)") { $0["value"]?.string?.hasPrefix("\(number)z") == true }
            }
            // It gets what waited for it, then the reason, then the end.
            let last = try deaf.lastLine()
            #expect(last["error"]?["data"]?["reason"]?.string == "quota")
            #expect(try writer.call("node.status")["name"]?.string == "anna")
        }

        /// What comes in bulk waits for a client that reads slowly; for one that does not read at all only for a while.
        @Test(arguments: [true, false]) func bulkWaitsForWhoReadsSlowly(reads: Bool) async throws {
            let anna = try await TestNode("anna")
            let bert = try await TestNode("bert", peers: [anna])
            await bert.node.setLagPatience(ms: reads ? 600_000 : 100)
            let (writer, follower) = (try anna.client(), try bert.client())
            try follower.waitUntilEqual(peers: 1)
            try follower.call("message.observe", ["in": "#general", "limitToLast": 10_000])
            // More than may wait for a client, and than the kernel takes besides.
            let (count, text) = (3000, String(repeating: "z", count: 5000))
            let requests = (1...count).map { number in
                RPCRequest(
                    id: .int(Int64(number)), method: "message.send",
                    params: ["to": "#general", "text": .string("\(number) \(text)")]
                ).line
            }
            try writer.send(requests.reduce(into: []) { $0 += $1 })
            for _ in 0..<count { _ = try writer.answer() }
            guard reads else {
                try bert.client().waitUntilEqual(peers: 1)
                // It is dropped, which is all that is sure: on a slow machine it begins to read only after the time in
                // which it is told why.
                _ = try follower.lastLine()
                return
            }
            var seen: Set<String> = []
            for number in 1...count {
                let event = try follower.event("\(number) messages") { $0["event"]?.string == "message" }
                if let text = event["message"]?["text"]?.string { seen.insert(String(text.prefix { $0 != " " })) }
            }
            #expect(seen == Set((1...count).map(String.init)))
        }

        /// Who was behind once and has caught up is waited for the next time as well, however long after.
        @Test func whoHasCaughtUpIsNoLongerBehind() async throws {
            let node = try await TestNode("anna")
            let (follower, writer) = (try node.client(), try node.client())
            try follower.call("tree.observe", ["path": "apps/x", "events": ["value"]])
            let text = String(repeating: "z", count: 500_000)
            for number in 0..<8 { try writer.set("apps/x", .string("\(number)\(text)")) }
            // Bulk asks once, and then not again.
            #expect(await node.node.lagMs() > 0)
            #expect(await node.node.behindCount == 1)
            try follower.event("the last value") { $0["value"]?.string?.hasPrefix("7z") == true }
            try await eventually("nobody behind", within: .seconds(60)) { await node.node.behindCount == 0 }
        }

        /// A client that asks and does not read has its requests wait, without an end of memory.
        @Test func aClientThatAsksAndDoesNotReadWaits() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set("apps/x", .string(String(repeating: "z", count: 500_000)))
            let request = RPCRequest(id: 1, method: "tree.get", params: ["path": "apps/x"]).line
            var sent = 0
            while sent < 100_000, client.offer(request) { sent += 1 }
            #expect(sent < 100_000)
            for _ in 0..<min(sent, 60) {
                #expect(try client.answer()["result"]?["value"]?.string?.utf8.count == 500_000)
            }
        }

        @Test func the65thClientIsRefusedWithWords() async throws {
            let node = try await TestNode("anna")
            var clients: [LineClient] = []
            for _ in 0..<Node.sessionsMax { clients.append(try node.client()) }
            let descriptor = try LineClient.connect(node.home.socketPath)
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: 1000)
            let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
            let line = try JSON.parse(bytes.prefix(max(0, count)).dropLast())
            #expect(line["error"]?["data"]?["reason"]?.string == "busy")
            #expect(line["error"]?["message"]?.string?.contains("64") == true)
            for client in clients { #expect(try client.call("tree.newKey")["key"] != nil) }
            // When one goes, its place is free.
            clients.removeLast().close()
            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            var isIn = false
            while !isIn, deadline.leftMs > 0 { isIn = (try? node.client().call("tree.newKey")) != nil }
            #expect(isIn)
        }

        @Test func subscriptionsAreBounded() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            for _ in 0..<Node.subscriptionsMax {
                try client.request("tree.observe", ["path": "apps", "events": ["value"]])
            }
            for _ in 0..<Node.subscriptionsMax { #expect(try client.answer()["result"] != nil) }
            #expect(try client.refusal("tree.observe", ["path": "apps"]) == "quota")
            try client.call("tree.unobserve", ["subscription": 1])
            #expect(try client.refusal("tree.observe", ["path": "apps"]) == "none")
            client.close()
            let other = try node.client()
            #expect(try other.refusal("tree.observe", ["path": "apps"]) == "none")
        }

        /// What is too large for a line is refused with words; the connection stays.
        @Test func largeAnswersAreRefused() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let text = String(repeating: "x", count: 1_000_000)
            for number in 0..<4 { try client.set("free/big/\(number)", .string(text)) }
            // Escaped, one control character is six.
            let wild = String(repeating: "\u{1}", count: 150_000)
            for number in 0..<4 { try client.set("free/wild/\(number)", .string(wild)) }
            for method in ["tree.get", "tree.observe"] {
                #expect(try client.refusal(method, ["path": "free/big"]) == "too_large")
                #expect(try client.refusal(method, ["path": "free/wild"]) == "too_large")
                #expect(try client.refusal(method, ["path": "free", "query": ["orderBy": "x"]]) == "too_large")
            }
            let last: JSON = ["path": "free/big", "query": ["limitToLast": 1]]
            #expect(try client.call("tree.get", last)["value"]?["3"]?.string == text)
            let shallow = try client.call("tree.get", ["path": "free", "shallow": true])["value"]
            #expect(shallow == ["big": true, "wild": true])
            #expect(try client.refusal("tree.remove", ["path": "free"]) == "none")
            #expect(try client.value("free") == .null)
        }

        /// Thousands of children make more bytes of events than of values: each event names the path.
        @Test func anObservationOfTooMuchIsRefused() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var members: [JSONObject.Member] = []
            for number in 0..<8000 { members.append(.init(key: "k\(number)", value: 1)) }
            let path = "apps/" + String(repeating: "p", count: 700)
            try client.set(path, .object(JSONObject(members: members)))
            #expect(try client.refusal("tree.observe", ["path": .string(path)]) == "too_large")
            #expect(try client.refusal("tree.observe", ["path": .string(path), "events": ["value"]]) == "none")
        }

        /// A window that grows too large ends its subscription with a reason; the others go on.
        @Test func aWindowThatGrowsTooLargeEnds() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let growing = try client.call("tree.observe", ["path": "apps/g", "events": ["child_added"]])["subscription"]
            let small = try client.call("tree.observe", ["path": "apps/g/3", "events": ["value"]])["subscription"]
            for number in 0..<4 {
                try client.set("apps/g/\(number)", .string(String(repeating: "x", count: 1_000_000)))
            }
            // Who observes deeper is told first.
            try client.event("the other") { $0["subscription"] == small && $0["value"] != .null }
            let ended = try client.event("the end") { $0["event"]?.string == "ended" }
            #expect(ended["subscription"] == growing && ended["reason"]?.string == "too_large")
        }
    }
}

extension Node {
    fileprivate func setLagPatience(ms: UInt64) { lagPatienceMs = ms }
    fileprivate var behindCount: Int { sessions.values.count { $0.behindSinceMs != nil } }
}
