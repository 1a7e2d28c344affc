import ControlAPI
import Lab
import Testing

/// What is written on both sides of a cut comes together again.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct PartitionTests {
    @Test(.timeLimit(.minutes(2))) func whatWasMissedComesThroughWhoeverHasIt() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob, eve) = (
            Machine("ann", on: lab[1]), Machine("bob", on: lab[2]), Machine("eve", on: lab[3])
        )
        for machine in [ann, bob, eve] { try await machine.start() }
        try await meet(ann, bob, eve)
        try await ann.say("before")
        try await converge(ann, bob, eve)

        try lab.cut(3)
        try await ann.say("ann, without eve")
        try await eve.say("eve, alone")
        try await eventually("bob has ann's message", within: .seconds(20)) {
            try await bob.texts() == ["before", "ann, without eve"]
        }
        #expect(try await eve.texts() == ["before", "eve, alone"])
        try await ann.stop()
        try await bob.say("bob, without ann and eve")

        try lab.heal(3)
        let everything: Set = ["before", "ann, without eve", "eve, alone", "bob, without ann and eve"]
        for machine in [eve, bob] {
            try await eventually("\(machine.name) has all messages", within: .seconds(20)) {
                Set(try await machine.texts()) == everything
            }
        }
        // Everywhere in the order in which they were written.
        #expect(try await eve.texts() == bob.texts())

        try await ann.start()
        try await eventually("ann has all messages", within: .seconds(20)) {
            Set(try await ann.texts()) == everything
        }
        try await meet(ann, bob, eve)
        try await converge(ann, bob, eve)
        for machine in [ann, bob, eve] {
            let rows = try await machine.rows("verify")
            #expect(rows.count == 2)
            for row in rows { #expect(row["equal"] == true && row["theyLack"] == 0 && row["weLack"] == 0, "\(row)") }
            #expect(try await machine.texts() == bob.texts())
        }
    }

    @Test(.timeLimit(.minutes(2))) func ofConcurrentEditsTheLaterWinsEverywhere() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob)
        let general = try #require(try await ann.row("channels")["key"]?.string)
        let lunch = try #require(try await ann.row("channels", "create", "lunch")["key"]?.string)
        let key = try await ann.say("first")
        // A message under an old Firebase key is anybody's, and so is the place of an application.
        let open = "-JhLeOlGIEjaIOFHR0xd"
        let uid = try #require(try await ann.row("identity", "show")["uid"])
        let value: JSON = ["senderId": uid, "senderName": "ann", "text": "open"]
        _ = try await ann.row("tree", "set", "channels/\(general)/messages/\(open)", "\(value)")
        _ = try await ann.row("tree", "set", "apps/board/note", "\"both\"")
        try await converge(ann, bob)

        try lab.cut(2)
        // Bob's are later in one place, ann's in the other.
        _ = try await ann.row("edit", key, "second")
        _ = try await ann.row("edit", open, "ann's")
        _ = try await bob.row("edit", open, "bob's, later")
        _ = try await ann.row("channels", "topic", "general", "ann's")
        _ = try await bob.row("channels", "topic", "general", "bob's, later")
        _ = try await bob.row("channels", "rename", "lunch", "food")
        _ = try await ann.row("channels", "rename", "lunch", "dinner")
        _ = try await bob.row("tree", "set", "apps/board/note", "\"bob's\"")
        _ = try await ann.row("tree", "set", "apps/board/note", "\"ann's, later\"")
        _ = try await bob.row("react", key, "👍")
        _ = try await ann.row("react", key, "👍")
        _ = try await ann.row("edit", key, "third")

        try lab.heal(2)
        try await converge(ann, bob, within: .seconds(20))
        for machine in [ann, bob] {
            let channels = try await machine.rows("channels")
            #expect(channels.first { $0["key"]?.string == general }?["topic"] == "bob's, later")
            #expect(channels.first { $0["key"]?.string == lunch }?["name"] == "dinner")
            #expect(try await machine.row("tree", "get", "apps/board/note") == "ann's, later")
            let messages = try await machine.rows("read", "general")
            try #require(messages.compactMap { $0["key"]?.string } == [open, key])
            #expect(messages[0]["text"] == "bob's, later" && messages[0]["verified"] == false)
            let message = messages[1]
            #expect(message["text"] == "third" && message["verified"] == true)
            #expect(message["editedAt"]?.int ?? 0 >= message["createdAt"]?.int ?? .max)
            #expect(message["reactions"]?["👍"]?.array?.count == 2)
        }
    }

    /// A deleted message stays deleted, whatever happened to it on the other side meanwhile.
    @Test(.timeLimit(.minutes(2))) func aDeleteThatCrossesAReactionLeavesNoMessage() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        for machine in [ann, bob] { try await machine.start() }
        try await meet(ann, bob)
        let key = try await ann.say("gone")
        try await ann.say("stays")
        try await converge(ann, bob)
        let reader = try bob.follow("read", "general", "-f", "--json")
        try await reader.nextRow { $0["text"] == "stays" }
        try lab.cut(2)
        _ = try await bob.row("react", key, "👍")
        _ = try await ann.row("delete", key)
        try lab.heal(2)
        try await converge(ann, bob, within: .seconds(20))
        #expect(try await ann.texts() == ["stays"])
        #expect(try await bob.texts() == ["stays"])
        let row = try await reader.nextRow { $0["deleted"] != nil }
        #expect(row["key"]?.string == key && row["deleted"] == true && row.object?.count == 3)
    }
}
