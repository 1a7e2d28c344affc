import ControlAPI
import Lab
import Testing

/// Hosts on one network, with real Avahi and nothing configured.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct NeighboursTests {
    @Test(.timeLimit(.minutes(2))) func threeNodesFindOneAnotherAndTalk() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob, eve) = (
            Machine("ann", on: lab[1]), Machine("bob", on: lab[2]), Machine("eve", on: lab[3])
        )
        let begin = ContinuousClock.now
        for machine in [ann, bob, eve] { try machine.launch(["--name", machine.name]) }
        for machine in [ann, bob, eve] { try await machine.ready() }
        try await meet(ann, bob, eve, within: .seconds(5) - (ContinuousClock.now - begin))

        let readers = [
            try bob.follow("read", "#general", "-f", "--json"), try eve.follow("read", "general", "-f", "--json"),
        ]
        let general = try #require(try await ann.row("channels")["key"]?.string)
        let watcher = try eve.follow("tree", "watch", "channels/\(general)/messages", "--json")
        try await watcher.nextRow { $0["event"] == "value" }

        var keys: [String] = []
        let delay = try await fastest(within: .milliseconds(500)) {
            let sent = ContinuousClock.now
            let key = try await ann.say("message \(keys.count)")
            keys.append(key)
            for reader in readers {
                let row = try await reader.nextRow(within: .seconds(20)) { $0["key"]?.string == key }
                #expect(row["text"] == .string("message \(keys.count - 1)"))
                #expect(row["senderName"] == "ann" && row["verified"] == true && row["in"]?.string == general)
            }
            return ContinuousClock.now - sent
        }
        #expect(delay < .milliseconds(500))
        for machine in [ann, bob, eve] {
            #expect(try await machine.rows("read", "general").compactMap { $0["key"]?.string } == keys)
        }

        // The tree says the same, in Firebase's order: each message with its predecessor's key.
        var previous = JSON.null
        for (index, key) in keys.enumerated() {
            let event = try await watcher.nextRow { $0["event"] == "child_added" }
            #expect(event["key"]?.string == key && event["previous"] == previous)
            #expect(event["value"]?["text"] == .string("message \(index)"))
            previous = .string(key)
        }
        for reader in readers { #expect(reader.isRunning) }
    }

    @Test(.timeLimit(.minutes(2))) func whoCannotReachEachOtherTalkThroughAThird() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob, eve) = (
            Machine("ann", on: lab[1]), Machine("bob", on: lab[2]), Machine("eve", on: lab[3])
        )
        try lab.isolate(1, 3)
        for machine in [ann, bob, eve] { try await machine.start() }
        try await meet(ann, bob, eve)
        // Seen through bob, not connected.
        for (machine, other) in [(ann, "eve"), (eve, "ann")] {
            let connected = try await machine.rows("peer", "list").filter { $0["state"] == "connected" }
            #expect(!connected.contains { $0["name"]?.string == other })
        }
        let reader = try eve.follow("read", "general", "-f", "--json")
        let bot = try eve.attach()
        try bot.request(1, "people.observe")
        _ = try await bot.answer(1)
        let delay = try await fastest(within: .seconds(1)) {
            let sent = ContinuousClock.now
            let key = try await ann.say("through bob")
            try await reader.nextRow(within: .seconds(20)) { $0["key"]?.string == key }
            return ContinuousClock.now - sent
        }
        #expect(delay < .seconds(1))
        #expect(try await ann.starling("typing", "general", "on").status == 0)
        try await bot.nextRow { row in
            let person = row["params"]?["person"]
            return person?["name"] == "ann" && person?["typing"]?.array?.isEmpty == false
        }
        try await converge(ann, bob, eve)

        // Once they can, they connect by themselves.
        try lab.join(1, 3)
        try await eventually("eve connects to ann", within: .seconds(40)) {
            try await eve.rows("peer", "list").contains { $0["name"] == "ann" && $0["state"] == "connected" }
        }
    }
}
