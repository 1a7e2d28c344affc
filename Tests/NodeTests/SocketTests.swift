import ControlAPI
import Foundation
import Glibc
import Node
import Testing
import Tree

extension NodeTests {
    /// What arrives on the local socket, line by line.
    @Suite struct SocketTests {
        /// Sends one line and returns the code of the error that answers it.
        private func code(_ client: LineClient, _ line: String) throws -> Int64? {
            try client.send(line + "\n")
            let answer = try client.answer()
            #expect(answer["jsonrpc"]?.string == "2.0")
            return answer["error"]?["code"]?.int
        }

        @Test func theFirstLineSaysWhoIsThere() async throws {
            let node = try await TestNode("anna")
            let hello = try node.client().hello
            #expect(hello["method"]?.string == "hello")
            #expect(hello["params"]?["api"]?.int == 1)
            #expect(hello["params"]?["version"]?.string == Node.version)
            #expect(hello["params"]?["workspace"]?.string == "open")
            #expect(hello["params"]?["uid"]?.string == UID.text(node.uid))
        }

        @Test func badLinesAreAnsweredAndTheConnectionGoesOn() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.call("tree.newKey")
            let cases: [(String, Int64)] = [
                ("{", -32700), ("nonsense", -32700), ("[1,2", -32700), ("{\"a\":1,}", -32700), ("\u{FEFF}{}", -32700),
                (#"{"jsonrpc":"2.0","id":1,"id":2,"method":"node.status"}"#, -32700),
                (#"{"jsonrpc":"2.0","id":1,"method":"tree.set","params":{"path":"a","value":1e999}}"#, -32700),
                (String(repeating: "[", count: 100_000), -32700),
                (String(repeating: #"{"a":"#, count: 70) + "1", -32700),
                ("1", -32600), ("\"x\"", -32600), ("null", -32600), ("{}", -32600), ("[]", -32600),
                (#"{"jsonrpc":"1.0","id":1,"method":"node.status"}"#, -32600),
                (#"{"jsonrpc":"2.0","id":[],"method":"node.status"}"#, -32600),
                (#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600),
                (#"{"jsonrpc":"2.0","id":1,"method":"node.status","params":5}"#, -32600),
                (#"{"jsonrpc":"2.0","id":1,"method":"node.status","params":[]}"#, -32602),
                (#"{"jsonrpc":"2.0","id":1,"method":"message.send"}"#, -32602),
                (#"{"jsonrpc":"2.0","id":1,"method":"message.send","params":{"to":5,"text":"x"}}"#, -32602),
                (#"{"jsonrpc":"2.0","id":1,"method":"no.such"}"#, -32601),
                (#"{"jsonrpc":"2.0","id":1,"method":""}"#, -32601),
            ]
            for (line, expected) in cases {
                let answered = try code(client, line)
                #expect(answered == expected, "\(line.prefix(80))")
            }
            try client.send([0x22, 0xFF, 0xFE, 0x22, 0x0A])
            #expect(try client.answer()["error"]?["data"]?["reason"]?.string == "parse_error")
            try client.send("\n\n\n")
            #expect(try client.call("node.status")["name"]?.string == "anna")
        }

        /// The id comes back as it was; a request without one is carried out and not answered.
        @Test func idsAndNotifications() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            for id in ["\"x\"", "-5", "1.5", "null", "\"\\u0000\"", "9223372036854775807"] {
                try client.send("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"tree.newKey\"}\n")
                let answer = try client.answer()
                #expect(answer["id"] == (try JSON.parse(id)))
                #expect(answer["result"]?["key"] != nil)
            }
            try client.send(#"{"jsonrpc":"2.0","method":"tree.set","params":{"path":"apps/silent","value":1}}"# + "\n")
            try client.send(#"{"jsonrpc":"2.0","method":"no.such"}"# + "\n")
            #expect(try client.value("apps/silent").int == 1)
        }

        @Test func batchesFollowTheRules() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.send(
                #"[{"jsonrpc":"2.0","id":1,"method":"tree.newKey"},5,{"jsonrpc":"2.0","method":"tree.newKey"},"#
                    + #"{"jsonrpc":"2.0","id":2,"method":"no.such"}]"# + "\n")
            let answers = try #require(try client.answer().array)
            #expect(answers.count == 3)
            #expect(answers[0]["id"]?.int == 1)
            #expect(answers[1]["error"]?["code"]?.int == -32600)
            #expect(answers[2]["error"]?["code"]?.int == -32601)
            // Notifications alone are answered with nothing, and the next request is served.
            try client.send(#"[{"jsonrpc":"2.0","method":"tree.newKey"}]"# + "\n")
            try client.send("[" + String(repeating: "1,", count: 1000) + "1]\n")
            #expect(try client.answer()["error"]?["code"]?.int == -32600)
            #expect(try client.call("node.status")["name"] != nil)
        }

        /// Answers of a batch share one line; what finds no room is refused, not carried out.
        @Test func aBatchOfLargeAnswersIsBounded() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set("apps/large", .string(String(repeating: "a", count: 900_000)))
            let read = #"{"jsonrpc":"2.0","id":ID,"method":"tree.get","params":{"path":"apps/large"}}"#
            var requests = (0..<50).map { read.replacingOccurrences(of: "ID", with: "\($0)") }
            requests.append(#"{"jsonrpc":"2.0","id":50,"method":"tree.set","params":{"path":"apps/late","value":1}}"#)
            try client.send("[" + requests.joined(separator: ",") + "]\n")
            let answers = try #require(try client.answer().array)
            #expect(answers.count == 51)
            #expect(answers.count { $0["result"] != nil } == 4)
            #expect(answers.last?["error"]?["data"]?["reason"]?.string == "too_large")
            #expect(try client.value("apps/late") == .null)
        }

        @Test func anOverlongLineEndsTheConnectionWithAReason() async throws {
            let node = try await TestNode("anna")
            for hasNewline in [true, false] {
                let client = try node.client()
                try client.send("[" + String(repeating: " ", count: LineSplitter.lineMax))
                if hasNewline { try client.send("\n") }
                let last = try client.line()
                #expect(last?["error"]?["data"]?["reason"]?.string == "too_large")
                #expect(last?["id"] == .null)
                client.endSending()
                #expect(try client.line() == nil)
            }
            #expect(node.logLines("a client was dropped").count == 2)
        }

        @Test func aThousandRequestsAtOnceAreAnsweredInOrder() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var lines: [UInt8] = []
            for number in 0..<1000 {
                let params: JSON = ["to": "#general", "text": .string("message \(number)")]
                lines += RPCRequest(id: .int(Int64(number)), method: "message.send", params: params).line
            }
            try client.send(lines)
            var keys: [String] = []
            for number in 0..<1000 {
                let answer = try client.answer()
                try #require(answer["id"]?.int == Int64(number))
                keys.append(try #require(answer["result"]?["key"]?.string))
            }
            #expect(Set(keys).count == 1000)
            #expect(keys == keys.sorted())
            let rows = try client.messages()
            #expect(rows.map { $0["key"]?.string } == keys)
            #expect(rows.last?["text"]?.string == "message 999")
        }

        /// Used by one thread at a time.
        private final class Box: @unchecked Sendable {
            let client: LineClient
            init(_ client: LineClient) { self.client = client }
        }

        /// Many requests of one client do not keep another waiting.
        @Test func aBusyClientDoesNotHoldUpOthers() async throws {
            let node = try await TestNode("anna")
            let (busy, other) = (try node.client(), try node.client())
            let request = RPCRequest(id: nil, method: "channel.list").line
            let flood = (0..<20_000).reduce(into: [UInt8]()) { bytes, _ in bytes += request }
            let box = Box(busy)
            Thread.detachNewThread { try? box.client.send(flood) }
            var slowestNs: UInt64 = 0
            for _ in 0..<30 {
                let start = Deadline.nowNs
                _ = try other.call("tree.newKey")
                slowestNs = max(slowestNs, Deadline.nowNs - start)
            }
            #expect(slowestNs < Pace.ns(1000), "a request took \(slowestNs / 1_000_000) ms")
            busy.close()
        }

        /// `printf … | nc -U`: the sender ends its side, and everything asked before is answered.
        @Test func whatWasAskedBeforeTheEndIsAnswered() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            for _ in 0..<500 { try client.request("people.list") }
            client.endSending()
            for _ in 0..<500 { #expect(try client.answer()["result"] != nil) }
            #expect(try client.line() == nil)
        }

        /// `echo … | socat -t 5 -`: also what is answered later than at once.
        @Test func lateAnswersReachWhoHasEndedHisSide() async throws {
            let anna = try await TestNode("anna")
            let first = try anna.client()
            let key = try first.send(message: "hello")
            var members: [JSONObject.Member] = []
            for number in 0..<500 { members.append(.init(key: "k\(number)", value: .int(Int64(number)))) }
            try first.set("apps/long", .object(JSONObject(members: members)))
            let bert = try await TestNode("bert", peers: [anna])
            try bert.client().waitUntilEqual(peers: 1)
            // Nobody has told of this one yet.
            let second = try first.send(message: "again")
            let requests: [(method: String, params: JSON)] = [
                ("node.verify", [:]), ("message.status", ["key": .string(second)]),
                ("message.status", ["key": .string(key)]), ("message.search", ["text": "hello"]),
                ("tree.get", ["path": "apps/long", "shallow": true]),
                ("tree.get", ["path": "apps/long", "query": ["orderBy": "$value", "limitToLast": 1]]),
                ("tree.observe", ["path": "apps/long", "query": ["orderBy": "$value", "limitToFirst": 1]]),
            ]
            for (method, params) in requests {
                let client = try anna.client()
                try client.request(method, params)
                client.endSending()
                #expect(try client.answer()["result"] != nil, "\(method)")
                while try client.line() != nil {}
            }
            // All of them at once, and as a batch.
            let client = try anna.client()
            for (method, params) in requests { try client.request(method, params) }
            let batch = requests.enumerated().map { index, request in
                let line = RPCRequest(id: .int(Int64(100 + index)), method: request.method, params: request.params).line
                return String(decoding: line.dropLast(), as: UTF8.self)
            }
            try client.send("[" + batch.joined(separator: ",") + "]\n")
            client.endSending()
            var ids: Set<Int64> = []
            while let line = try client.line() {
                for answer in line.array ?? [line] {
                    if answer["result"] != nil, let id = answer["id"]?.int { ids.insert(id) }
                }
            }
            #expect(ids.count == 2 * requests.count)
        }
    }
}
