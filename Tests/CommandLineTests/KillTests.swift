import ControlAPI
import Foundation
import Lab
import Testing

/// What was answered is there, whenever the daemon dies.
@Suite(.serialized, .showsLogs)
struct KillTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["STARLING_KILL_ROUNDS"].flatMap { Int($0) } ?? 10
    private static let sends = 1_000

    /// Kills the daemon in the middle of 1,000 sends over one socket, again and again; meanwhile another node takes
    /// what it is told. STARLING_KILL_ROUNDS sets how often.
    @Test(.timeLimit(.minutes(10))) func nothingAnsweredIsLostOrDoubled() async throws {
        var random = SystemRandomNumberGenerator()
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await bob.startLocally()
        try await ann.startLocally(knowing: bob)
        var answered: [String] = []
        var unanswered = 0
        for round in 0..<Self.rounds {
            let killAfter = Int.random(in: 1..<Self.sends, using: &random)
            let bot = try ann.attach()
            try await bot.nextRow { $0["method"] == "hello" }
            // Written on a thread of its own: the daemon stops reading while its answers wait.
            let requests = (1...Self.sends).map { number in
                let text = "\(round)/\(number)"
                let params: JSON = ["to": "#general", "text": .string(text)]
                return #"{"jsonrpc":"2.0","id":\#(number),"method":"message.send","params":\#(params)}"#
            }
            Thread.detachNewThread { try? bot.send(line: requests.joined(separator: "\n")) }
            var count = 0
            while let line = try await bot.nextLine() {
                // A line that the kill has cut is no answer.
                guard let row = try? JSON.parse(line) else { continue }
                guard let key = row["result"]?["key"]?.string else { throw LabError("round \(round): \(line)") }
                answered.append(key)
                count += 1
                if count == killAfter { try ann.daemon.kill(SIGKILL) }
            }
            unanswered += Self.sends - count
            try await ann.daemon.wait()
            try await ann.startLocally(knowing: bob)
            #expect(count >= killAfter)
        }
        #expect(unanswered > 0, "every kill came too late to mean anything")
        try await converge(ann, bob, within: .seconds(60 + 4 * Self.rounds))
        let keys = try await Self.messageKeys(ann)
        #expect(Set(keys).count == keys.count)
        #expect(Set(answered).count == answered.count)
        #expect(Set(answered).subtracting(keys) == [])
        // A send that was not answered is there or is not.
        #expect(keys.count <= Self.rounds * Self.sends)
        #expect(try await Self.messageKeys(bob) == keys)
        for row in try await ann.rows("verify") { #expect(row["equal"] == true) }
    }

    /// All message keys of #general, read by the page.
    private static func messageKeys(_ machine: Machine) async throws -> [String] {
        var keys: [String] = []
        var before: [String] = []
        while true {
            let rows = try await machine.spawn("starling", ["read", "general", "-n", "5000", "--json"] + before)
                .finish()
            guard rows.status == 0 else { throw LabError(rows.err) }
            let page = try rows.out.split(separator: "\n").compactMap { try JSON.parse(String($0))["key"]?.string }
            guard let first = page.first else { return keys }
            keys = page + keys
            before = ["--before", first]
        }
    }

    /// A client that chose the key itself may ask again after a crash: the message is there once.
    @Test(.timeLimit(.minutes(1))) func aRetryWithItsKeyDoublesNothing() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let bot = try ann.attach()
        try bot.request(1, "tree.newKey")
        let key = try #require(try await bot.answer(1)["result"]?["key"])
        let message: JSON = ["to": "#general", "text": "once", "key": key]
        try bot.request(2, "message.send", message)
        #expect(try await bot.answer(2)["result"]?["key"] == key)
        try await ann.crash()
        try await ann.startLocally()
        let again = try ann.attach()
        try again.request(3, "message.send", message)
        #expect(try await again.answer(3)["result"]?["key"] == key)
        #expect(try await ann.texts() == ["once"])
        #expect(try await ann.row("read", "general")["editedAt"] == nil)
    }
}
