import ControlAPI
import Foundation
import Lab
import Testing

/// Who is typing, as the others see it.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct TypingTests {
    /// Waits until ann is shown typing, or no longer.
    private func awaitTyping(_ isTyping: Bool, on bots: [LabProcess], within limit: Duration) async throws {
        for bot in bots {
            try await bot.nextRow(within: limit) { row in
                let person = row["params"]?["person"]
                return person?["name"] == "ann" && person?["typing"]?.array?.isEmpty == !isTyping
            }
        }
    }

    private func typists(_ machine: Machine) async throws -> [String] {
        try await machine.rows("who").filter { $0["typing"]?.array?.isEmpty == false }.compactMap { $0["name"]?.string }
    }

    @Test(.timeLimit(.minutes(2))) func typingComesAndGoesAtOnce() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob, eve) = (
            Machine("ann", on: lab[1]), Machine("bob", on: lab[2]), Machine("eve", on: lab[3])
        )
        for machine in [ann, bob, eve] { try await machine.start() }
        try await meet(ann, bob, eve)
        let bots = [try bob.attach(), try eve.attach()]
        for bot in bots {
            try bot.request(1, "people.observe")
            _ = try await bot.answer(1)
        }

        // It shows within 300 ms, and a killed command ends it within a second.
        var slowestEnd = Duration.zero
        let shown = try await fastest(within: .milliseconds(300)) {
            let typing = try ann.follow("typing", "#general", "on", "--hold", "--json")
            #expect(try await typing.output.nextLine() == "{}")
            let begin = ContinuousClock.now
            try await awaitTyping(true, on: bots, within: .seconds(5))
            let shown = ContinuousClock.now - begin
            #expect(try await typists(bob) == ["ann"])
            typing.kill(SIGKILL)
            let end = ContinuousClock.now
            try await awaitTyping(false, on: bots, within: .seconds(5))
            slowestEnd = max(slowestEnd, ContinuousClock.now - end)
            #expect(try await typists(eve) == [])
            return shown
        }
        #expect(shown < .milliseconds(300))
        #expect(slowestEnd < .seconds(1))

        // Off ends it, and so does a message: where that is read, nobody types any more.
        #expect(try await ann.row("typing", "general", "on") == [:])
        try await awaitTyping(true, on: bots, within: .seconds(2))
        #expect(try await ann.row("typing", "general", "off") == [:])
        try await awaitTyping(false, on: bots, within: .seconds(2))
        let reader = try bob.follow("read", "general", "-f", "--json")
        _ = try await ann.row("typing", "general", "on")
        try await awaitTyping(true, on: bots, within: .seconds(2))
        let key = try await ann.say("done")
        try await reader.nextRow { $0["key"]?.string == key }
        #expect(try await typists(bob) == [])
        try await awaitTyping(false, on: bots, within: .seconds(1))

        // A daemon that dies takes its typing and its presence along.
        let typing = try ann.follow("typing", "#general", "on", "--hold", "--json")
        #expect(try await typing.output.nextLine() == "{}")
        try await awaitTyping(true, on: bots, within: .seconds(2))
        let death = ContinuousClock.now
        try await ann.crash()
        try await awaitTyping(false, on: bots, within: .seconds(10))
        #expect(ContinuousClock.now - death < .seconds(10))
        #expect(try await typists(bob) == [])
        // The command outlives it, and says it again to the next one.
        _ = try await ann.start()
        try await awaitTyping(true, on: bots, within: .seconds(20))
        typing.kill(SIGKILL)
        try await awaitTyping(false, on: bots, within: .seconds(5))
    }

    /// Without --hold it fades by itself: its life is six seconds.
    @Test(.timeLimit(.minutes(1))) func typingFades() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let bot = try bob.attach()
        try bot.request(1, "people.observe")
        _ = try await bot.answer(1)
        _ = try await ann.row("typing", "general", "on")
        try await awaitTyping(true, on: [bot], within: .seconds(2))
        let begin = ContinuousClock.now
        try await awaitTyping(false, on: [bot], within: .seconds(8))
        #expect(ContinuousClock.now - begin > .seconds(4))
    }
}
