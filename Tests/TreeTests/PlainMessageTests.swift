import Seal
import Testing

@testable import Tree

@Suite struct PlainMessageTests {
    private let author = Bytes32(repeating: 9)
    private let hlc = HLC(ms: 1_790_000_000_000, counter: 3)

    private func entry(_ pairs: [(String, Value)]) throws -> Entry {
        let children = try pairs.map { (try #require(Key($0.0)), $0.1) }
        return try Entry(
            path: try Path(parsing: "channels/a/messages/m"), hlc: hlc, author: author,
            value: .object(ObjectValue(children)))
    }

    private func message(
        text: Value, name: Value = .string("Ann"), sender: Value? = nil, ms: Value? = nil
    ) -> [(String, Value)] {
        [
            ("text", text), ("senderName", name), ("senderId", sender ?? .string(UID.text(author))),
            ("createdAt", ms ?? .integer(Int64(hlc.ms))),
        ]
    }

    /// Lengths on both sides of every length of a head.
    @Test(arguments: [0, 1, 23, 24, 255, 256, 65_535, 65_536, 300_000]) func isTakenApartAndPutTogether(
        length: Int
    ) throws {
        for name in ["", "é", String(repeating: "n", count: min(length, 1000))] {
            let text = String(repeating: "t", count: length)
            let entry = try entry(message(text: .string(text), name: .string(name)))
            let plain = try #require(PlainMessage(entry))
            #expect(PlainMessage.value(name: plain.name, text: plain.text, hlc, author)[...] == entry.encodedValue)
            let fields = try #require(MessageFields(entry))
            #expect(fields.name == name && fields.onlyText == text)
        }
    }

    /// What is nearly one is none, neither by its bytes nor by its children.
    @Test func everythingElseIsNone() throws {
        let text = Value.string("t")
        let others = [
            message(text: .integer(1)), message(text: text, name: .bool(true)),
            message(text: text, sender: .string(UID.text(Bytes32(repeating: 8)))),
            message(text: text, sender: .integer(1)), message(text: text, ms: .integer(Int64(hlc.ms) + 1)),
            message(text: text, ms: .integer(5)), message(text: text, ms: .string("t")),
            message(text: text) + [("more", text)], Array(message(text: text).dropLast()),
            [("text", text)], [("text", text), ("a", text), ("b", text), ("c", text)],
        ]
        for pairs in others {
            let entry = try entry(pairs)
            #expect(PlainMessage(entry) == nil, "\(pairs)")
            #expect(MessageFields(entry)?.onlyText == nil, "\(pairs)")
        }
        for value in [.null, .string("text"), .integer(4)] as [Value] {
            let entry = try Entry(path: try Path(parsing: "a"), hlc: hlc, author: author, value: value)
            #expect(PlainMessage(entry) == nil)
        }
    }
}
