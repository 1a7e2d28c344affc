import ControlAPI
import Testing

@testable import starling

struct ChatModelTests {
    private static let general = "---------generalgenera"
    private static let ops = "---------opsopsopsopso"
    private static let me = "uidOfMyself"
    private static let bob = "uidOfBob-aaaa"

    private func model(columns: Int = 80) -> ChatModel {
        var model = ChatModel(
            uid: Self.me, style: Style(isColoured: false), columns: columns,
            time: { milliseconds in
                var time = LocalTime(milliseconds: 0)
                time.hour = 14
                time.minute = Int(milliseconds % 60)
                time.day = Int(milliseconds / 60) + 1
                return time
            })
        model.fill([
            PersonRow(uid: Self.me, name: "ada", state: .online, since: 0, isSelf: true),
            PersonRow(uid: Self.bob, name: "bob", state: .online, since: 0),
        ])
        _ = model.take(ChannelRow(key: Self.general, name: "general", topic: "All of it"))
        _ = model.take(ChannelRow(key: Self.ops, name: "ops", unread: 3))
        return model
    }

    private func joined() -> ChatModel {
        var model = model()
        _ = model.join(Self.general)
        _ = model.take(message("k0", "first"))
        _ = model.ready()
        return model
    }

    private func message(_ key: String, _ text: String, from uid: String = bob, at: Int64 = 3) -> MessageRow {
        MessageRow(
            key: key, channel: Self.general, senderId: uid, senderName: uid == Self.me ? "ada" : "bob", text: text,
            createdAt: at, verified: true)
    }

    @Test func joiningShowsTitleAndHistory() {
        var model = model()
        #expect(model.join(Self.general) == ["", "#general · All of it"])
        #expect(!model.isLive)
        let first = model.take(message("k1", "hello"))
        #expect(first.count == 2 && first[1] == "14:03           bob │ hello")
        #expect(
            model.take(message("k2", "two\nlines", from: Self.me)) == [
                "14:03           ada │ two", "                    │ lines",
            ])
        #expect(model.ready().isEmpty && model.isLive)
        let nextDay = model.take(message("k3", "later", at: 65))
        #expect(nextDay.count == 2 && nextDay[0].hasPrefix("── "))
    }

    @Test func anEmptyChannelSaysSo() {
        var model = model()
        _ = model.join(Self.ops)
        #expect(model.ready() == ["  nothing has been written here yet"])
    }

    @Test func editsReactionsAndDeletesAreToldOnce() {
        var model = joined()
        var row = message("k1", "lunch at one")
        _ = model.take(row)
        #expect(model.take(row).isEmpty, "after a lost connection all comes again")
        row.text = "lunch at two"
        row.editedAt = 4
        #expect(model.take(row) == ["14:03           bob │ ✎ lunch at two (edited)"])
        row.reactions = [.init(emoji: "👍", uids: [Self.me])]
        #expect(model.take(row) == ["  ada 👍 “lunch at two”"])
        row.reactions = []
        #expect(model.take(row) == ["  ada took 👍 back"])
        #expect(model.delete("k1") == ["  bob deleted “lunch at two”"])
        #expect(model.delete("k1").isEmpty)
    }

    /// A deleted message lets an older one into the daemon's window; it is no news.
    @Test func whatComesIntoTheWindowFromBeforeIsNotShown() {
        var model = model()
        _ = model.join(Self.general)
        for number in 100..<(100 + ChatModel.backlog) { _ = model.take(message("k\(number)", "x")) }
        _ = model.ready()
        #expect(model.take(message("k099", "old")).isEmpty)
        #expect(!model.take(message("k115b", "late")).isEmpty)
        var short = joined()
        #expect(!short.take(message("a", "late")).isEmpty, "the window was not full")
    }

    @Test func answersQuote() {
        var model = joined()
        var row = message("k1", "yes", from: Self.me)
        row.replyTo = "k0"
        #expect(model.take(row) == ["  ↳ bob: first", "14:03           ada │ yes"])
        // Several lines on one, as the input line has them; and what is no emoji does not fill the screen.
        var long = message("k2", "one\ntwo\r\n\tthree")
        _ = model.take(long)
        long.reactions = [.init(emoji: String(repeating: "x", count: 40), uids: [Self.me])]
        #expect(model.take(long) == ["  ada xxxxxxxxxxxxxxx… “one⏎two⏎ three”"])
    }

    @Test func whatASearchFinds() {
        var model = joined()
        #expect(model.found([], by: "x") == ["  no message is found"])
        var there = message("k2", "in ops", from: "uidOfEve-cccc", at: 4)
        (there.channel, there.senderName) = (Self.ops, "eve\u{1B}")
        let lines = model.found([message("k1", "here"), there], by: "x")
        #expect(lines.count == 5 && lines[0].contains("#general ·") && lines[2].contains("#ops ·"))
        #expect(lines[1] == "14:03           bob │ here" && lines[3].hasSuffix("│ in ops"))
        #expect(!lines[3].contains("\u{1B}") && lines[4] == "  found: 2 messages")
        let many = (0..<21).map { message("m\($0)", "number \($0)") }
        #expect(model.found(Array(many.dropLast()), by: "x").last == "  found: 20 messages")
        let last = model.found(many, by: "x")
        #expect(last.count == 22 && last[1].hasSuffix("number 1"), "the oldest is what shows that there are more")
        #expect(last.last == "  found: the last 20 of more; starling search -n 100 shows older ones")
        // Only shown: a message that comes again from the channel is new there.
        #expect(model.take(message("k1", "here")).last == "14:03           bob │ here")
    }

    @Test func lastMessages() {
        var model = joined()
        #expect(model.lastOwn == nil && model.last?.key == "k0")
        _ = model.take(message("k1", "mine", from: Self.me))
        _ = model.take(message("k2", "theirs"))
        #expect(model.lastOwn?.key == "k1" && model.last?.key == "k2")
        _ = model.delete("k1")
        #expect(model.lastOwn == nil)
        for number in 0..<(ChatModel.rememberedMax + 10) { _ = model.take(message("n\(number)", "x")) }
        #expect(model.take(message("n\(ChatModel.rememberedMax + 9)", "x")).isEmpty)
        #expect(!model.take(message("k2", "theirs")).isEmpty, "what is too old is forgotten")
    }

    @Test func comingAndGoing() {
        var model = joined()
        let carol = PersonRow(uid: "uidOfCarol", name: "carol", state: .online, since: 0)
        #expect(model.take(carol) == ["  carol is here"])
        var bob = PersonRow(uid: Self.bob, name: "bob", state: .away, since: 0)
        #expect(model.take(bob).isEmpty)
        bob.state = .offline
        #expect(model.take(bob) == ["  bob has left"])
        bob.name = "robert"
        #expect(model.take(bob) == ["  bob is robert now"])
        let myself = PersonRow(uid: Self.me, name: "Ada", state: .online, since: 0, isSelf: true)
        #expect(model.take(myself) == ["  you are Ada now"])
    }

    /// Whoever is new has no name for a moment: they come under the one they have then.
    @Test func newPeopleComeWithTheirNames() {
        var model = joined()
        var dave = PersonRow(uid: "uidOfDave-zzzz", name: "uidOfDav", state: .online, since: 0)
        #expect(model.take(dave).isEmpty)
        #expect(model.take(dave).isEmpty)
        dave.name = "dave"
        #expect(model.take(dave) == ["  dave is here"])
        dave.name = "David"
        #expect(model.take(dave) == ["  dave is David now"])
        dave.state = .offline
        #expect(model.take(dave) == ["  David has left"])
        var passing = PersonRow(uid: "uidOfNobody-zzzz", name: "uidOfNob", state: .online, since: 0)
        #expect(model.take(passing).isEmpty)
        passing.state = .offline
        #expect(model.take(passing).isEmpty)
    }

    /// Nobody can pass for another by taking their name.
    @Test func sharedNamesAreToldApart() {
        var model = joined()
        let impostor = PersonRow(uid: "uidOfOther-zzzz", name: "BOB", state: .online, since: 0)
        #expect(model.take(impostor) == ["  BOB~zzzz is here"])
        #expect(model.take(message("k1", "me"))[0] == "14:03      bob~aaaa │ me")
    }

    @Test func statusLine() {
        var model = joined()
        #expect(model.status().text == String(repeating: " ", count: 73) + "#ops 3")
        _ = model.take(ChannelRow(key: Self.ops, name: "ops"))
        #expect(model.status().text == "")
        func types(_ uid: String, _ name: String, in channels: [String], isSelf: Bool = false) -> PersonRow {
            PersonRow(uid: uid, name: name, state: .online, since: 0, typing: channels, isSelf: isSelf)
        }
        _ = model.take(types(Self.me, "ada", in: [Self.general], isSelf: true))
        _ = model.take(types(Self.bob, "bob", in: [Self.ops]))
        #expect(model.status().text == "")
        _ = model.take(types(Self.bob, "bob", in: [Self.general]))
        #expect(model.status().text == "bob is typing…")
        _ = model.take(types("uidOfCarol", "carol", in: [Self.general]))
        #expect(model.status().text == "bob and carol are typing…")
        _ = model.take(types("uidOfDan", "dan", in: [Self.general]))
        #expect(model.status().text == "3 people are typing…")
        model.isConnected = false
        #expect(model.status().text == "no connection to the daemon, trying again…")
        model.start = "starling daemon start"
        #expect(model.status().text == "no daemon; start it: starling daemon start")
        model.columns = 40
        #expect(model.status().text == "starling daemon start")
    }

    @Test func channelChanges() {
        var model = joined()
        let renamed = ChannelRow(key: Self.general, name: "agora", topic: "All of it", unread: 0)
        #expect(model.take(renamed) == ["  #general is #agora now"])
        var row = renamed
        row.topic = nil
        row.archived = true
        #expect(model.take(row) == ["  the topic was taken away", "  archived"])
        #expect(model.take(ChannelRow(key: Self.ops, name: "other")).isEmpty, "not the one on the screen")
        #expect(model.currentName == "#agora")
    }

    @Test func whatMayBeMeant() {
        var model = joined()
        _ = model.take(ChannelRow(key: "k-old", name: "oldgames", archived: true))
        let words = model.completions
        #expect(["/create", "/unmute", "/unblock", "#general", "#ops", "ada", "bob"].allSatisfy(words.contains))
        #expect(!words.contains("#oldgames") && Set(words).count == words.count)
        #expect(model.choices(["#general", "#g\u{1b}"]) == ["  #general  #g\\x1b"])
        #expect(model.choices((100..<200).map { "#\($0)" }).last?.hasSuffix("#139  …") == true)
        #expect(
            model.noChannel("genral") == ["  there is no #genral; did you mean #general? /create genral opens it"])
        #expect(model.noChannel("oldgame") == ["  there is no #oldgame; /create oldgame opens it"])
        #expect(model.noChannel("x") == ["  there is no #x; /create x opens it"], "all short names are near")
    }

    @Test func nothingFromOthersReachesTheTerminalRaw() {
        var model = model()
        let nasty = "\u{1b}]0;x\u{7}\u{202e}\r"
        _ = model.take(ChannelRow(key: Self.general, name: nasty, topic: nasty))
        var lines = model.join(Self.general)
        lines += model.take(PersonRow(uid: Self.bob, name: nasty, state: .offline, since: 0))
        var row = message("k1", nasty)
        row.attachment = ["name": .string(nasty)]
        row.reactions = [.init(emoji: nasty, uids: [nasty])]
        lines += model.take(row)
        row.reactions = []
        row.text = nasty + "2"
        lines += model.take(row) + model.delete("k1") + [model.status().text]
        _ = model.take(ChannelRow(key: Self.general, name: nasty + "3", topic: "x" + nasty))
        let all = lines.joined(separator: " ").unicodeScalars
        #expect(!all.contains { $0.value < 0x20 || $0.value == 0x7F || $0.value == 0x202E })
        #expect(lines.count > 8)
    }

    /// Whoever has a name that is known from another key is marked in every line.
    @Test func aNamesakeIsMarked() {
        var model = joined()
        let other = "uidOfOther-bbbb"
        _ = model.take(PersonRow(uid: other, name: "Bob", state: .online, since: 0, namesakeOf: Self.bob))
        let lines = model.take(message("k7", "it is me", from: other))
        #expect(lines.last?.contains("⚠Bob~bbbb") == true, "\(lines)")
        #expect(model.take(message("k8", "who?")).last?.contains("bob~aaaa") == true)
        let notice = NoticeRow(kind: .namesake, uid: other, text: "Bob has another key")
        #expect(model.take(notice) == ["  Bob has another key"])
    }
}
