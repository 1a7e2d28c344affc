import ControlAPI
import Node
import Testing
import Tree

extension NodeTests {
    /// The tree's methods, and the exact reasons for which they refuse.
    @Suite struct TreeMethodTests {
        @Test func pathsThatAreNone() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let deep = [String](repeating: "a", count: 33).joined(separator: "/")
            let bad = [
                "a//b", "a/.b", "a/b.c", "a#", "a$b", "a[0]", "a\u{1}b", "a\u{7F}", "///", deep,
                String(repeating: "x", count: 769),
                [String](repeating: String(repeating: "y", count: 99), count: 8)
                    .joined(separator: "/"), "a/.add:x", "a/.priority/b", ".value", "a/.value",
            ]
            for path in bad {
                for method in ["tree.get", "tree.set", "tree.remove", "tree.push", "tree.observe"] {
                    let params: JSON = ["path": .string(path), "value": 1]
                    #expect(try client.refusal(method, params) == "invalid_path", "\(method) \(path.prefix(40))")
                }
            }
            for path in [5, .null, ["a"]] as [JSON] {
                #expect(try client.refusal("tree.get", ["path": path]) == "invalid_params")
            }
            #expect(try client.refusal("tree.get") == "invalid_params")
            #expect(try client.refusal("tree.set", ["value": 1]) == "invalid_params")
            // Limits are in bytes, and what just fits is taken.
            #expect(
                try client.refusal("tree.set", ["path": .string(String(repeating: "ö", count: 384)), "value": 1])
                    == "none")
            #expect(try client.refusal("tree.set", ["path": .string(String(deep.dropLast(2))), "value": 1]) == "none")
            #expect(try client.refusal("tree.get", ["path": "/"]) == "none")
            #expect(try client.refusal("tree.set", ["path": "", "value": 1]) == "permission_denied")
            #expect(try client.refusal("tree.set", ["path": ".priority", "value": 1]) == "permission_denied")
            for method in ["tree.get", "tree.push", "tree.observe", "tree.transaction"] {
                #expect(try client.refusal(method, ["path": "a/.priority", "value": 1]) == "invalid_path")
            }
        }

        @Test func valuesThatAreNone() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            for value in [["a.b": 1], ["": 1], [".info": 1], ["x": [["$": 1]]]] as [JSON] {
                #expect(try client.refusal("tree.set", ["path": "apps/x", "value": value]) == "invalid_path")
            }
            for value in [
                [".sv": "nonsense"], [".sv": "timestamp", "x": 1], [".sv": ["increment": "1"]], [".sv": ["add": 1]],
                ["a": [".sv": ["increment": 1, "x": 2]]], [".value": ["a": 1]], [".value": 1, "a": 2],
                [".priority": true, "a": 1], [".priority": ["a": 1], "a": 1],
            ] as [JSON] {
                #expect(
                    try client.refusal("tree.set", ["path": "apps/x", "value": value]) == "invalid_params", "\(value)")
            }
            var deep: JSON = 1
            for _ in 0..<31 { deep = ["a": deep] }
            #expect(try client.refusal("tree.set", ["path": "apps/x", "value": deep]) == "invalid_path")
            #expect(try client.value("apps/x") == .null)
            try client.set("apps/now", ["at": [".sv": "timestamp"]])
            let at = try #require(try client.value("apps/now/at").int)
            #expect(abs(at - Int64(HostilePeer.nowMs)) < 60_000)
        }

        @Test func tooLarge() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let text = String(repeating: "x", count: 1 << 20)
            #expect(try client.refusal("tree.set", ["path": "apps/x", "value": .string(text)]) == "too_large")
            let part = String(text.dropLast(1000))
            let update: JSON = [
                "path": "apps", "values": ["a": .string(part), "b": .string(part), "c": .string(part)],
            ]
            #expect(try client.refusal("tree.update", update) == "too_large")
            #expect(try client.value("apps") == .null)
            // As many paths as fit into a line are refused at once, not compared with one another.
            var members: [JSONObject.Member] = []
            for number in 0..<60_000 { members.append(.init(key: "\(number)", value: 1)) }
            let start = Deadline.nowNs
            let wide: JSON = ["path": "apps", "values": .object(JSONObject(members: members))]
            #expect(try client.refusal("tree.update", wide) == "too_large")
            #expect(Deadline.nowNs - start < Pace.ns(5000))
        }

        @Test func denied() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let general = try #require(try client.call("channel.list")["channels"]?[0]?["key"]?.string)
            let other = String(repeating: "-", count: 43)
            for path in [
                "channels", "users", "dms", "rooms", "presence", "retention", "channels/\(general)",
                "users/\(other)/displayName",
                "channels/\(general)/messages", "channels/\(general)/typingIndicator/x",
                "presence/\(UID.text(node.uid))",
                "channels/short/name", "channels/\(general)/messages/short/text", "channels/\(general)/reads/\(other)",
            ] {
                #expect(
                    try client.refusal("tree.set", ["path": .string(path), "value": ["a": 1]]) == "permission_denied",
                    "\(path)")
                #expect(try client.refusal("tree.remove", ["path": .string(path)]) == "permission_denied", "\(path)")
                #expect(
                    try client.refusal("tree.update", ["path": .string(path), "values": ["a": 1]])
                        == "permission_denied"
                        || path == "channels/\(general)", "\(path)")
            }
            let mixed: JSON = ["path": "/", "values": ["apps/fine": 1, "users/\(other)/displayName": "x"]]
            #expect(try client.refusal("tree.update", mixed) == "permission_denied")
            #expect(try client.value("apps") == .null)
            let nothing: JSON = ["path": "/", "values": ["users/\(other)/displayName": .null]]
            #expect(try client.refusal("tree.update", nothing) == "permission_denied")
        }

        @Test func setUpdatePushRemove() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set("apps/x", ["b": [1, 2, 3], "a": true, "10": "ten", "9": 1.5, "n": .null, "e": [:]])
            #expect(try client.value("apps/x") == ["9": 1.5, "10": "ten", "a": true, "b": [1, 2, 3]])
            #expect(try client.value("apps/x/b/1") == 2)
            try client.call("tree.update", ["path": "apps/x", "values": ["a": .null, "b/1": "two", "c/d": 4]])
            #expect(try client.value("apps/x") == ["9": 1.5, "10": "ten", "b": [1, "two", 3], "c": ["d": 4]])
            for values in [["a": 1, "a/b": 2], ["a/b": 1, "a": 2], ["a": 1, "/a": 2]] as [JSON] {
                #expect(try client.refusal("tree.update", ["path": "apps/x", "values": values]) == "invalid_path")
            }
            #expect(try client.refusal("tree.update", ["path": "apps/x", "values": 5]) == "invalid_params")
            let first = try #require(
                try client.call("tree.push", ["path": "apps/list", "value": "one"])["key"]?.string)
            let second = try #require(
                try client.call("tree.push", ["path": "apps/list", "value": "two"])["key"]?.string)
            #expect(first < second)
            #expect(AutoID(first)?.isCertified(by: node.uid) == true)
            #expect(
                try client.call("tree.get", ["path": "apps", "shallow": true])["value"] == ["list": true, "x": true])
            try client.call("tree.remove", ["path": "apps/x"])
            #expect(try client.value("apps/x") == .null)
            try client.call("tree.remove", ["path": "apps/x/never/there"])
            #expect(try client.value("apps") == .object(["list": .object([first: "one", second: "two"])]))
        }

        @Test func queries() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set(
                "apps/q",
                ["a": ["n": 3], "b": ["n": 1], "c": ["n": "x"], "d": ["n": true], "e": ["m": 1], "f": ["n": 2]])
            func keys(_ query: JSON) throws -> [String] {
                let value = try client.call("tree.get", ["path": "apps/q", "query": query])["value"]
                return value?.object?.members.map(\.key) ?? []
            }
            #expect(try keys(["orderBy": "n"]) == ["e", "d", "b", "f", "a", "c"])
            #expect(try keys(["orderBy": "n", "limitToLast": 2]) == ["a", "c"])
            #expect(try keys(["orderBy": "n", "startAt": 2]) == ["f", "a", "c"])
            #expect(try keys(["orderBy": "n", "startAfter": 2, "endBefore": "x"]) == ["a"])
            #expect(try keys(["orderBy": "n", "equalTo": 1]) == ["b"])
            #expect(try keys(["orderBy": "$key", "limitToFirst": 2, "startAt": "c"]) == ["c", "d"])
            for query in [
                ["limitToFirst": 0], ["limitToFirst": 1, "limitToLast": 1], ["startAt": 1],
                ["orderBy": "$key", "startAt": 1], ["orderBy": "n", "startKey": "a"],
                ["orderBy": "n", "startAt": ["a": 1]], ["orderBy": "n", "startAt": "a", "startAfter": "b"],
                ["orderBy": "n", "equalTo": 1, "endAt": 2], ["orderBy": 5], ["limitToLast": 1e300], ["limittolast": 1],
                7,
            ] as [JSON] {
                #expect(
                    try client.refusal("tree.get", ["path": "apps/q", "query": query]) == "invalid_params", "\(query)")
            }
            #expect(try client.refusal("tree.get", ["path": "apps/q", "query": ["orderBy": "a//b"]]) == "invalid_path")
        }

        // MARK: Observers

        private func short(_ event: JSON) -> String {
            let words = [event["event"], event["key"], event["value"], event["previous"]]
            return words.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ")
        }

        @Test func eventsComeInFirebasesOrder() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set("apps/o", ["a": 1, "b": 2, "c": 3])
            try client.call("tree.observe", ["path": "apps/o"])
            func next(_ count: Int) throws -> [String] { try (0..<count).map { _ in short(try client.event()) } }
            #expect(
                try next(4) == [
                    #""child_added" "a" 1 null"#, #""child_added" "b" 2 "a""#, #""child_added" "c" 3 "b""#,
                    #""value" null {"a":1,"b":2,"c":3} null"#,
                ])
            // One change with all kinds: removed, added, changed, then the value.
            try client.call("tree.update", ["path": "apps/o", "values": ["a": .null, "b": 5, "aa": 4]])
            #expect(
                try next(4) == [
                    #""child_removed" "a" 1 null"#, #""child_added" "aa" 4 null"#, #""child_changed" "b" 5 "aa""#,
                    #""value" null {"aa":4,"b":5,"c":3} null"#,
                ])
            try client.set("apps/o", "scalar")
            #expect(
                try next(4) == [
                    #""child_removed" "aa" 4 null"#, #""child_removed" "b" 5 null"#, #""child_removed" "c" 3 null"#,
                    #""value" null "scalar" null"#,
                ])
            // A write that changes nothing is no event: the next one comes first.
            try client.set("apps/o", "scalar")
            try client.call("tree.remove", ["path": "apps/o"])
            #expect(try next(1) == [#""value" null null null"#])
        }

        @Test func aWindowIsRefilled() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set("apps/w", ["a": 1, "b": 2, "c": 3])
            let params: JSON = [
                "path": "apps/w", "query": ["limitToLast": 2], "events": ["child_added", "child_removed"],
            ]
            let number = try #require(try client.call("tree.observe", params)["subscription"])
            func next(_ count: Int) throws -> [String] {
                try (0..<count).map { _ in
                    let event = try client.event()
                    return "\(event["event"]?.string ?? "") \(event["key"]?.string ?? "")"
                }
            }
            #expect(try next(2) == ["child_added b", "child_added c"])
            try client.set("apps/w/d", 4)
            #expect(try next(2) == ["child_removed b", "child_added d"])
            try client.call("tree.remove", ["path": "apps/w/c"])
            #expect(try next(2) == ["child_removed c", "child_added b"])
            try client.call("tree.unobserve", ["subscription": number])
            #expect(try client.refusal("tree.unobserve", ["subscription": number]) == "not_found")
            try client.set("apps/w/e", 5)
            try client.call("tree.observe", ["path": "apps/other", "events": ["value"]])
            #expect(try client.event()["path"]?.string == "apps/other")
            #expect(try client.refusal("tree.observe", ["path": "apps", "events": ["nonsense"]]) == "invalid_params")
        }

        /// What another node writes raises the same events.
        @Test func othersWritesRaiseTheSameEvents() async throws {
            let a = try await TestNode("anna")
            let b = try await TestNode("bert", peers: [a])
            try a.client().waitForPerson(UID.text(b.uid), "bert online") { $0["state"]?.string == "online" }
            let (atA, atB) = (try a.client(), try b.client())
            for client in [atA, atB] {
                try client.call("tree.observe", ["path": "apps/s", "query": ["orderBy": "n"]])
                try client.event("the first value") { $0["event"]?.string == "value" }
            }
            try atA.set("apps/s", ["x": ["n": 1], "y": ["n": 2]])
            try atA.set("apps/s/x/n", 3)
            try atA.call("tree.remove", ["path": "apps/s/y"])
            func events(_ client: LineClient) throws -> [String] { try (0..<8).map { _ in short(try client.event()) } }
            let seen = try events(atA)
            #expect(try events(atB) == seen)
            #expect(
                seen.map { $0.prefix { $0 != " " } } == [
                    #""child_added""#, #""child_added""#, #""value""#, #""child_moved""#, #""child_changed""#,
                    #""value""#,
                    #""child_removed""#, #""value""#,
                ])
        }
    }
}
