import ControlAPI
import Lab
import Testing
import Tree

extension NodeTests {
    /// Values that know more than they show: priorities, server values, conditions.
    @Suite struct TreeValueTests {
        private func exported(_ client: LineClient, _ path: String) throws -> JSON? {
            try client.call("tree.get", ["path": .string(path), "export": true])["value"]
        }

        @Test func priorities() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let list: JSON = [
                "a": [".value": 1, ".priority": 2], "b": ["x": 1, ".priority": 1], "c": 3,
                "d": [".value": 4, ".priority": "z"],
            ]
            try client.set("apps/p", list)
            #expect(try client.value("apps/p") == ["a": 1, "b": ["x": 1], "c": 3, "d": 4])
            #expect(
                try exported(client, "apps/p") == [
                    "a": [".priority": 2, ".value": 1], "b": [".priority": 1, "x": 1], "c": 3,
                    "d": [".priority": "z", ".value": 4],
                ])
            #expect(try client.value("apps/p/a") == 1)
            #expect(try exported(client, "apps/p/a") == [".priority": 2, ".value": 1])
            func keys(_ query: JSON) throws -> [String] {
                let value = try client.call("tree.get", ["path": "apps/p", "query": query])["value"]
                return value?.object?.members.map(\.key) ?? []
            }
            #expect(try keys(["limitToFirst": 4]) == ["c", "b", "a", "d"])
            #expect(try keys(["orderBy": "$priority", "limitToLast": 2]) == ["a", "d"])
            #expect(try keys(["orderBy": "$priority", "startAt": 2]) == ["a", "d"])
            #expect(try keys(["orderBy": "$priority", "endAt": .null]) == ["c"])
            #expect(try keys(["orderBy": "$priority", "equalTo": 1]) == ["b"])
            // Who observes without a query is told in the order of priorities, and of moves in it.
            try client.call("tree.observe", ["path": "apps/p"])
            var told: [String] = []
            try client.event("the value") { event in
                if event["event"]?.string == "child_added", let key = event["key"]?.string { told.append(key) }
                return event["event"]?.string == "value"
            }
            #expect(told == ["c", "b", "a", "d"])
            // By a path of its own, as a member of an update, away again, and with the value.
            try client.set("apps/p/c/.priority", 9)
            #expect(try exported(client, "apps/p/c") == [".priority": 9, ".value": 3])
            #expect(try client.event("the move") { $0["event"]?.string == "child_moved" }["previous"] == "a")
            try client.call("tree.update", ["path": "apps/p", "values": ["a/.priority": .null, "d": 5]])
            #expect(try exported(client, "apps/p/a") == 1)
            #expect(try exported(client, "apps/p/d") == 5)
            try client.call("tree.remove", ["path": "apps/p/b/x"])
            try client.set("apps/p/b/x", 2)
            #expect(try exported(client, "apps/p/b") == ["x": 2])
            // What is not there gets none.
            try client.set("apps/none/.priority", 1)
            #expect(try exported(client, "apps/none") == .null)
        }

        /// A priority stands beside the children of its node, and may be that of one that the update makes.
        @Test func anUpdateNamesAPriorityAndAChild() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            func update(_ values: JSON) throws -> String {
                try client.refusal("tree.update", ["path": "demo/p", "values": values])
            }
            #expect(try update(["a/.priority": 1, "a/y": 2]) == "none")
            #expect(try exported(client, "demo/p") == ["a": [".priority": 1, "y": 2]])
            #expect(try update(["a/y": .null, "a/z": 3, "a/.priority": 4, "b/.priority": 5]) == "none")
            #expect(try exported(client, "demo/p") == ["a": [".priority": 4, "z": 3]])
            #expect(try update(["a/z": .null, "a/.priority": 6]) == "none")
            #expect(try exported(client, "demo/p") == .null)
            #expect(try update(["a/.priority": 1, "a": 2]) == "invalid_path")
            #expect(try update(["a/.priority": 1, "/a/.priority": 2]) == "invalid_path")
        }

        /// A value and its priority are one write, here and on another node: no child is seen that never was there.
        @Test func aWriteWithPrioritiesIsOneChange() async throws {
            let anna = try await TestNode("anna")
            let bert = try await TestNode("bert", peers: [anna])
            let (client, near, far) = (try anna.client(), try anna.client(), try bert.client())
            let query: JSON = ["orderBy": "$key", "limitToLast": 2]
            let ranked: JSON = [".value": 0, ".priority": "p"]
            let cases: [(method: String, params: JSON, told: [String])] = [
                (
                    "tree.set", ["value": ["x": ranked]],
                    ["child_removed a", "child_removed b", "child_added x null", "value"]
                ),
                (
                    "tree.set", ["value": ["x": ranked, "y": 1, "z": 2]],
                    ["child_removed a", "child_removed b", "child_added y null", "child_added z y", "value"]
                ),
                (
                    "tree.update", ["values": ["b": .null, "x": ranked]],
                    ["child_removed b", "child_added x a", "value"]
                ),
            ]
            for (number, example) in cases.enumerated() {
                let path = JSON.string("demo/w\(number)")
                try client.set("demo/w\(number)", ["a": 1, "b": 2])
                for follower in [near, far] {
                    try follower.waitUntilEqual(peers: 1)
                    try follower.call("tree.observe", ["path": path, "query": query])
                    try follower.event("the value") { $0["path"] == path && $0["event"]?.string == "value" }
                }
                var params = try #require(example.params.object)
                params["path"] = path
                try client.call(example.method, .object(params))
                for follower in [near, far] {
                    var told: [String] = []
                    try follower.event("the change") { event in
                        let kind = event["event"]?.string ?? ""
                        let key = event["key"]?.string.map { " " + $0 } ?? ""
                        let isAdded = kind == "child_added"
                        told.append(kind + key + (isAdded ? " " + (event["previous"]?.string ?? "null") : ""))
                        return kind == "value"
                    }
                    #expect(told == example.told, "case \(number)")
                }
            }
        }

        @Test func increments() async throws {
            let anna = try await TestNode("anna")
            let ben = try await TestNode("ben", peers: [anna])
            let (first, second) = (try anna.client(), try ben.client())
            try second.waitUntilEqual(peers: 1)
            let one: JSON = [".sv": ["increment": 1]]
            for _ in 0..<20 {
                try first.set("apps/n", one)
                try second.set("apps/n", one)
            }
            try await eventually("all count", within: .seconds(60)) {
                try first.value("apps/n") == 40 && second.value("apps/n") == 40
            }
            #expect(try first.root() == second.root())
            try first.set("apps/n", 5)
            try first.call("tree.update", ["path": "apps", "values": ["n": [".sv": ["increment": 0.5]], "m": one]])
            #expect(try first.value("apps") == ["m": 1, "n": 5.5])
            // Of what is no number it makes one, and inside a value it adds to what was there.
            try first.set("apps/n", "text")
            try first.set("apps/n", one)
            #expect(try first.value("apps/n") == 1)
            try first.set("apps/n", ["deep": 2])
            try first.set("apps/n", ["deep": one, "at": 1])
            #expect(try first.value("apps/n") == ["at": 1, "deep": 3])
            try first.set("apps/n", one)
            #expect(try first.value("apps/n") == 1)
            #expect(try first.refusal("tree.set", ["path": "users/x/n", "value": one]) == "permission_denied")
        }

        /// What is large is no number: it is replaced, and not read.
        @Test func anIncrementReplacesWhatIsLarge() async throws {
            let a = try await TestNode("anna")
            let client = try a.client()
            let text = JSON.string(String(repeating: "x", count: 900_000))
            for key in ["a", "b"] { try client.call("tree.set", ["path": .string("demo/big/\(key)"), "value": text]) }
            let increment: JSON = [".sv": ["increment": 1]]
            try client.call("tree.set", ["path": "demo/big", "value": increment])
            #expect(try client.call("tree.get", ["path": "demo/big"])["value"] == 1)
            try client.call("tree.set", ["path": "demo/big", "value": ["n": increment, "text": text]])
            #expect(try client.call("tree.get", ["path": "demo/big/n"])["value"] == 1)
        }

        @Test func transactions() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            func attempt(_ expect: JSON, _ value: JSON) throws -> JSON {
                try client.call("tree.transaction", ["path": "apps/t", "expect": expect, "value": value])
            }
            #expect(try attempt(.null, ["a": 1]) == ["committed": true, "value": ["a": 1]])
            #expect(try attempt(.null, 2) == ["committed": false, "value": ["a": 1]])
            #expect(try attempt(["a": 1.0], 2) == ["committed": true, "value": 2])
            try client.set("apps/t/.priority", 7)
            #expect(try attempt([".value": 2, ".priority": 8], 3) == ["committed": false, "value": 2])
            #expect(try attempt([".value": 2, ".priority": 7], [".sv": ["increment": 2]])["value"] == 4)
            #expect(try attempt(4, .null) == ["committed": true, "value": .null])
            #expect(
                try client.refusal("tree.transaction", ["path": "users/x", "expect": .null, "value": 1])
                    == "permission_denied")
        }

        /// What could not be answered is not written: a form that there is not, and a string that takes 3.6 MB as JSON.
        @Test func aTransactionThatIsRefusedChangesNothing() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let form: JSON = ["path": "apps/t", "expect": .null, "value": 1, "shallow": 1]
            #expect(try client.refusal("tree.transaction", form) == "invalid_params")
            let long: JSON = .string(String(repeating: "\u{1}", count: 600_000))
            let large: JSON = ["path": "apps/t", "expect": .null, "value": long]
            #expect(try client.refusal("tree.transaction", large) == "too_large")
            #expect(try client.value("apps/t") == .null)
        }

        @Test func errorsNameWhatIsWrong() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            func words(_ method: String, _ params: JSON) throws -> String {
                do {
                    try client.call(method, params)
                    return "none"
                } catch let error as RPCError {
                    return error.message
                }
            }
            #expect(try words("tree.get", [:]) == "path must be a string")
            #expect(try words("tree.set", ["path": 5, "value": 1]) == "path must be a string")
            let nested: JSON = ["path": "apps", "values": ["a": 1, "a/b": 2]]
            #expect(
                try words("tree.update", nested)
                    == "an update may not name a path and one below it: \"apps/a\" and \"apps/a/b\"")
            #expect(
                try words("message.send", ["path": ".info", "to": "#general"]) == "text must be a string",
                ".info is of the tree")
        }

        /// Numbers and strings at their edges come back as they were meant.
        @Test func edges() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let values: [JSON] = [
                .double(-0.0), .int(1 << 53), .int(-(1 << 53)), .double(1e308), .double(.leastNonzeroMagnitude),
                "", .string(String(repeating: "\u{1F600}", count: 1000)), true, false,
            ]
            for value in values {
                try client.set("apps/v", value)
                #expect(try client.value("apps/v") == (value == .double(-0.0) ? 0 : value), "\(value)")
            }
            try client.set("apps/v", [1, .null, 3])
            #expect(try client.value("apps/v") == [1, .null, 3])
            try client.set("apps/v", ["0": 1, "5": 2])
            #expect(try client.value("apps/v") == ["0": 1, "5": 2])
            try client.set("apps/v", ["b": .null, "c": [:], "d": []])
            #expect(try client.value("apps/v") == .null)
        }

        @Test func formsOfEvents() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.set("apps/f", ["a": ["x": 1, ".priority": 1], "b": 2])
            for (form, value) in [
                ("export", ["a": [".priority": 1, "x": 1], "b": 2]), ("shallow", ["a": true, "b": true]),
            ] as [(String, JSON)] {
                try client.call(
                    "tree.observe", .object(["path": "apps/f", "events": ["value"], form: true] as JSONObject))
                #expect(try client.event("a value") { $0["event"]?.string == "value" }["value"] == value)
            }
            #expect(
                try client.refusal("tree.get", ["path": "apps/f", "export": true, "shallow": true])
                    == "invalid_params")
        }

        /// Two cursors: pages forward and backward through children that are equal in the order.
        @Test func pages() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            var members = JSONObject()
            for number in 0..<20 { members.append("k\(10 + number)", ["rank": .int(Int64(number / 7))]) }
            try client.set("apps/pages", .object(members))
            func page(_ query: JSONObject) throws -> [JSONObject.Member] {
                var query = query
                query["orderBy"] = "rank"
                let value = try client.call("tree.get", ["path": "apps/pages", "query": .object(query)])["value"]
                return value?.object?.members ?? []
            }
            var forward: [String] = []
            var cursor: JSONObject = ["limitToFirst": 3]
            while case let members = try page(cursor), let last = members.last {
                forward += members.map(\.key)
                cursor = ["limitToFirst": 3, "startKey": .string(last.key)]
                cursor["startAfter"] = last.value["rank"]
            }
            var backward: [String] = []
            cursor = ["limitToLast": 3]
            while case let members = try page(cursor), let first = members.first {
                backward = members.map(\.key) + backward
                cursor = ["limitToLast": 3, "endKey": .string(first.key)]
                cursor["endBefore"] = first.value["rank"]
            }
            #expect(forward == members.members.map(\.key))
            #expect(backward == forward)
        }
    }
}
