import Chat
import Seal
import Testing
import Tree

@Suite struct ChannelNameTests {
    /// Names that must lead to one channel, written the way people write them.
    @Test(
        arguments: [
            ("Lunch", "#lunch"), ("CAF\u{C9}", "cafe\u{301}"), ("Stra\u{DF}e", "STRASSE"), ("\u{130}x", "i\u{307}x"),
            ("\u{3A3}\u{391}\u{3A3}", "\u{3C3}\u{3B1}\u{3C2}"), ("\u{FB01}n", "fin"), ("日本", "日本"),
        ])
    func folding(one: String, other: String) throws {
        let workspace = Workspace.id
        let (first, second) = (try ChannelName(one), try ChannelName(other))
        #expect(first.folded == second.folded)
        #expect(first.key(workspace: workspace) == second.key(workspace: workspace))
        #expect(first.key(workspace: workspace) != first.key(workspace: Bytes32(repeating: 1)))
    }

    private enum Workspace {
        static let id = BLAKE2b.hash(Array("starling/workspace/open".utf8))
    }

    @Test func theKeyCertifiesTheName() throws {
        let key = try #require(try ChannelName("general").key(workspace: Workspace.id))
        #expect(key.text == "---------F-AwZpOZVQLrS")
        #expect(AutoID.isNameKey(key.text))
    }

    @Test(
        arguments: [
            ("", ChannelNameError.empty), ("#", .empty), ("a b", .forbiddenCharacter), ("a\tb", .forbiddenCharacter),
            ("a\u{1B}[31m", .forbiddenCharacter), ("##a", .forbiddenCharacter), ("@a", .forbiddenCharacter),
            ("a\u{202E}b", .forbiddenCharacter), ("a\u{200B}b", .forbiddenCharacter),
            (String(repeating: "x", count: 81), .tooLong), (String(repeating: "é", count: 41), .tooLong),
        ])
    func refused(name: String, error: ChannelNameError) {
        #expect(throws: error) { _ = try ChannelName(name) }
    }

    @Test func limitsAreInBytes() throws {
        #expect(try ChannelName(String(repeating: "é", count: 40)).folded.utf8.count == 80)
    }
}

@Suite struct MessageTests {
    private let author = SigningKey(seed: Bytes32(repeating: 1)).publicKey

    private func key(by author: Bytes32) throws -> Key {
        try #require(Key(AutoID(hlc: HLC(ms: 1000), author: author).text))
    }

    private func value(_ pairs: [(String, Value)]) -> Value {
        .object(ObjectValue(pairs.compactMap { text, value in Key(text).map { ($0, value) } }))
    }

    @Test func aMessageOfOurOwnIsOne() throws {
        let value = Message.value(
            sender: author, senderName: "Ann", text: "hello", createdAtMs: 1000, replyTo: "-other")
        let message = try #require(Message(key: try key(by: author), value: value))
        #expect(message.text == "hello" && message.senderName == "Ann" && message.createdAtMs == 1000)
        #expect(message.replyTo == "-other" && message.editedAtMs == nil && message.reactions.isEmpty)
        #expect(message.isVerified)
    }

    /// The key certifies the sender: anybody else in `senderId` is shown as unverified.
    @Test func anotherSenderIsUnverified() throws {
        let other = SigningKey(seed: Bytes32(repeating: 2)).publicKey
        let value = Message.value(sender: author, senderName: "Ann", text: "x", createdAtMs: 1, replyTo: nil)
        #expect(try #require(Message(key: try key(by: other), value: value)).isVerified == false)
        let push = try #require(Key("-KmLvuZfWAmvictV04_u"))
        #expect(try #require(Message(key: push, value: value)).isVerified == false)
    }

    /// What remains when a delete meets a concurrent reaction, and other things that are no message.
    @Test func whatIsNoMessage() throws {
        let key = try key(by: author)
        let sender = Value.string(UID.text(author))
        let reactions = value([("reactions", value([("someone", value([("x", .bool(true))]))]))])
        for value in [.null, .string("x"), reactions, value([("senderId", sender)]), value([("text", .string("x"))])] {
            #expect(Message(key: key, value: value) == nil)
        }
        let photo = value([("senderId", sender), ("photoURL", .string("NOTSET"))])
        #expect(Message(key: key, value: photo)?.text == "NOTSET")
    }

    @Test func reactionsByEmoji() throws {
        var message = Message.value(sender: author, senderName: "Ann", text: "x", createdAtMs: 1, replyTo: nil)
        for (person, emoji) in [("b", "👍"), ("a", "👍"), ("a", "🎉")] {
            let keys = ["reactions", person, emoji].compactMap { Key($0) }
            message.overlay(keys[...], .bool(true))
        }
        let found = try #require(Message(key: try key(by: author), value: message)).reactions
        #expect(found.map(\.emoji) == ["🎉", "👍"] || found.map(\.emoji) == ["👍", "🎉"])
        #expect(found.first { $0.emoji == "👍" }?.uids == ["a", "b"])
    }
}
