import CBOR
import Seal
import Testing
import Tree

/// Who may write where: every row of the table, allowed and denied.
@Suite struct OwnershipTests {
    /// A path with names in braces, who writes what there, and why that is denied; nil where it is allowed.
    struct Row: CustomTestStringConvertible, Sendable {
        let path: String
        let author: Bytes32
        let value: Value
        let denial: Denial?
        var testDescription: String { "\(path) by \(author == OwnershipTests.alice ? "alice" : "bob"): \(value)" }

        init(_ path: String, _ author: Bytes32, _ denial: Denial?, _ value: Value = .integer(1)) {
            (self.path, self.author, self.denial, self.value) = (path, author, denial, value)
        }
    }

    static let (alice, bob) = (Bytes32(repeating: 1), Bytes32(repeating: 2))
    static let now = HLC(ms: 1_700_000_000_000, counter: 30)
    private static let later = HLC(ms: now.ms + 1)

    /// What the names in braces stand for. `M` is a message of alice, `N` one of bob.
    private static let names: [String: String] = {
        let (a, b) = (UID.text(alice), UID.text(bob))
        let push = { (ms: UInt64) in String(AutoID(hlc: HLC(ms: ms), author: alice).text.prefix(20)) }
        return [
            "a": a, "b": b, "a~b": "\(a)~\(b)", "b~a": "\(b)~\(a)", "a~a": "\(a)~\(a)",
            "b~c": "\(b)~\(UID.text(Bytes32(repeating: 3)))",
            "M": AutoID(hlc: now, author: alice).text, "N": AutoID(hlc: now, author: bob).text,
            "sameMs": AutoID(hlc: HLC(ms: now.ms, counter: 63), author: alice).text,
            "future": AutoID(hlc: later, author: alice).text, "push": push(now.ms),
            "pushLead": push(now.ms + 60_000), "pushFuture": push(now.ms + 60_001),
            "name": AutoID.nameKey(foldedName: "lunch", workspace: .zero),
            "forged": String(AutoID(hlc: now, author: alice).text.dropLast()) + "-",
            "+": ".add:" + AutoID(hlc: now, author: alice).text,
            "+future": ".add:" + AutoID(hlc: later, author: alice).text,
        ]
    }()

    private static func object(_ pairs: (String, Value)...) -> Value {
        .object(ObjectValue(pairs.compactMap { name, value in Key(names[name] ?? name).map { ($0, value) } }))
    }

    static let users: [Row] = [
        Row("users", alice, .reserved), Row("users", alice, .reserved, object(("a", .integer(1)))),
        Row("users/{a}", alice, nil, object(("displayName", .string("Ada")))), Row("users/{a}", alice, nil, .null),
        Row("users/{a}/displayName", alice, nil), Row("users/{a}/x/y/z", alice, nil),
        Row("users/{b}", alice, .notOwner), Row("users/{b}/displayName", alice, .notOwner),
        Row("users/{b}", alice, .notOwner, .null), Row("users/ada", alice, .notOwner),
    ]

    static let channels: [Row] = [
        Row("channels", alice, .reserved, .null),
        Row("channels/{M}", alice, nil, object(("name", .string("lunch")))), Row("channels/{M}", alice, nil, .null),
        Row("channels/{N}", alice, .notOwner, .null), Row("channels/{forged}", alice, .notOwner),
        Row("channels/{name}", alice, .namedChannel), Row("channels/{name}", alice, .namedChannel, .null),
        Row("channels/{push}", bob, nil), Row("channels/lunch", alice, .malformedKey),
        Row("channels/{N}/name", alice, nil), Row("channels/{name}/topic", alice, nil),
        Row("channels/{push}/archived", alice, nil), Row("channels/{name}/other/deep", alice, nil),
        Row("channels/lunch/topic", alice, .malformedKey), Row("channels/{future}", alice, .futureKey),
        Row("channels/{future}/topic", bob, .futureKey), Row("channels/{sameMs}", alice, nil),
        Row("channels/{pushLead}/topic", alice, nil), Row("channels/{pushFuture}/topic", alice, .futureKey),
        // A whole set of a channel does not reach into what others own.
        Row("channels/{M}", alice, .reserved, object(("messages", object(("M", .integer(1)))))),
        Row("channels/{M}", alice, .reserved, object(("reads", object(("a", .string("x")))))),
        Row("channels/{M}", alice, .reserved, object(("name", .string("x")), ("typingIndicator", .bool(true)))),
    ]

    static let messages: [Row] = [
        Row("channels/{name}/messages", alice, .reserved, .null),
        Row("channels/{name}/messages", alice, .reserved, object(("M", .integer(1)))),
        Row("channels/{name}/messages/{M}", alice, nil), Row("channels/{name}/messages/{M}", alice, nil, .null),
        Row("channels/{name}/messages/{M}/text", alice, nil), Row("channels/{name}/messages/{M}/a/b/c", alice, nil),
        Row("channels/{name}/messages/{N}", alice, .notOwner),
        Row("channels/{name}/messages/{N}", alice, .notOwner, .null),
        Row("channels/{name}/messages/{N}/text", alice, .notOwner),
        Row("channels/{name}/messages/{forged}", alice, .notOwner),
        Row("channels/{name}/messages/{push}", bob, nil), Row("channels/{name}/messages/{push}/text", alice, nil),
        Row("channels/{name}/messages/{name}", alice, .malformedKey),
        Row("channels/{name}/messages/m", alice, .malformedKey),
        Row("channels/{name}/messages/{future}", alice, .futureKey),
        Row("channels/{name}/messages/{sameMs}", alice, nil),
        Row("channels/{name}/messages/{pushLead}", bob, nil),
        Row("channels/{name}/messages/{pushFuture}", bob, .futureKey),
        Row("channels/{future}/messages/{M}", alice, .futureKey),
        Row("channels/lunch/messages/{M}", alice, .malformedKey),
    ]

    static let reactionsAndReads: [Row] = [
        Row("channels/{name}/messages/{N}/reactions/{a}", alice, nil),
        Row("channels/{name}/messages/{N}/reactions/{a}/x", alice, nil, .bool(true)),
        Row("channels/{name}/messages/{N}/reactions/{b}", alice, .notOwner),
        Row("channels/{name}/messages/{M}/reactions/{b}", alice, .notOwner),
        Row("channels/{name}/messages/{M}/reactions/{b}/x", alice, .notOwner, .null),
        Row("channels/{name}/messages/{M}/reactions/ada", alice, .notOwner),
        Row("channels/{name}/messages/{push}/reactions/{b}", alice, .notOwner),
        Row("channels/{name}/messages/{N}/reactions", alice, .notOwner),
        Row("channels/{name}/messages/{M}/reactions", alice, nil, object(("a", .bool(true)))),
        Row("channels/{name}/messages/{M}/reactions", alice, .notOwner, object(("b", .bool(true)))),
        // Nested inside a message that is one's own.
        Row("channels/{name}/messages/{M}", alice, nil, object(("reactions", object(("a", .bool(true)))))),
        Row(
            "channels/{name}/messages/{M}", alice, .notOwner,
            object(("text", .string("x")), ("reactions", object(("a", .bool(true)), ("b", .bool(true)))))),
        Row("channels/{name}/messages/{push}", alice, .notOwner, object(("reactions", object(("b", .bool(true)))))),
        Row("channels/{name}/messages/{future}/reactions/{a}", alice, .futureKey),
        Row("channels/{name}/reads", alice, .reserved), Row("channels/{name}/reads/{a}", alice, nil),
        Row("channels/{name}/reads/{a}/x", alice, nil), Row("channels/{name}/reads/{b}", alice, .notOwner),
        Row("channels/{name}/reads", alice, .reserved, object(("a", .integer(1)))),
    ]

    static let softState: [Row] = [
        Row("channels/{name}/typingIndicator", alice, .reserved),
        Row("channels/{name}/typingIndicator/{a}", alice, .softOnly, .bool(true)),
        Row("presence", alice, .reserved), Row("presence/{a}", alice, .softOnly),
        Row("presence/{a}/state", alice, .softOnly),
    ]

    static let retention: [Row] = [
        Row("retention/{M}/{M}", alice, nil, .bool(true)), Row("retention/{M}/{N}", alice, nil, .bool(true)),
        Row("retention/{M}/{push}", alice, nil, .bool(true)), Row("retention/{M}/{M}", alice, .reserved, .null),
        Row("retention/{M}/{M}", alice, .reserved, .bool(false)),
        Row("retention/{M}/{M}", alice, .reserved, .integer(1)),
        Row("retention/{M}/{M}", bob, .notOwner, .bool(true)),
        Row("retention/{name}/{M}", alice, .notOwner, .bool(true)),
        Row("retention/{push}/{M}", alice, .notOwner, .bool(true)), Row("retention/{M}", alice, .reserved, .null),
        Row("retention/{M}", alice, .reserved, object(("M", .bool(true)))), Row("retention", alice, .reserved),
        Row("retention/{M}/{M}/x", alice, .reserved, .bool(true)),
        Row("retention/{M}/{future}", alice, .futureKey, .bool(true)),
        Row("retention/{M}/{name}", alice, .malformedKey, .bool(true)),
        Row("retention/{M}/x", alice, .malformedKey, .bool(true)),
    ]

    static let direct: [Row] = [
        Row("dms", alice, .reserved), Row("dms/{a~b}", alice, .reserved, .null),
        Row("dms/{a~b}/messages", alice, .reserved),
        Row("dms/{a~b}/messages/{M}", alice, nil), Row("dms/{a~b}/messages/{N}", bob, nil),
        Row("dms/{a~b}/messages/{M}/x", alice, nil), Row("dms/{a~b}/messages/{N}", alice, .notOwner),
        Row("dms/{a~b}/messages/{push}", bob, nil), Row("dms/{a~b}/messages/{future}", alice, .futureKey),
        Row("dms/{a~b}/messages/{N}/reactions/{a}", alice, nil),
        Row("dms/{a~b}/messages/{N}/reactions/{b}", alice, .notOwner),
        Row("dms/{a~b}/reads/{a}", alice, nil), Row("dms/{a~b}/reads/{b}", alice, .notOwner),
        Row("dms/{a~b}/other/x", alice, .reserved), Row("dms/{b~c}/messages/{M}", alice, .notOwner),
        Row("dms/{b~c}/messages/{push}", alice, .notOwner), Row("dms/{b~a}/messages/{M}", alice, .malformedKey),
        Row("dms/{a~a}/messages/{M}", alice, .malformedKey), Row("dms/{a}/messages/{M}", alice, .malformedKey),
        Row("dms/{a~b}~/messages/{M}", alice, .malformedKey),
    ]

    static let rooms: [Row] = [
        Row("rooms", alice, .reserved), Row("rooms/{M}", alice, .reserved, .null),
        Row("rooms/{M}/messages", alice, .reserved),
        Row("rooms/{N}/messages/{M}", alice, nil), Row("rooms/{M}/messages/{N}", alice, .notOwner),
        Row("rooms/{N}/messages/{N}/reactions/{a}", alice, nil), Row("rooms/{N}/reads/{a}", alice, nil),
        Row("rooms/{N}/reads/{b}", alice, .notOwner), Row("rooms/{N}/topic/x", alice, .reserved),
        Row("rooms/{push}/messages/{M}", alice, .malformedKey), Row("rooms/{name}/messages/{M}", alice, .malformedKey),
        Row("rooms/{future}/messages/{M}", alice, .futureKey), Row("rooms/{M}/epochs", alice, .reserved),
        Row("rooms/{M}/epochs/{M}", alice, .notOwner), Row("rooms/{M}/epochs/{M}", alice, .malformedKey, .null),
        Row("rooms/{M}/epochs/{push}", alice, .malformedKey), Row("rooms/{M}/epochs/{M}/name", alice, .reserved),
    ]

    static let elsewhere: [Row] = [
        Row("apps", alice, nil), Row("apps/x", alice, nil), Row("apps/x/messages/{N}", alice, nil, .null),
        Row("anything", alice, nil), Row("anything/{b}/x", alice, nil, .null), Row("Users/{b}", alice, nil),
    ]

    static let engineKeys: [Row] = [
        Row("anything/.priority", alice, nil), Row("anything/.priority", alice, nil, .null),
        Row("anything/.priority", alice, nil, .string("x")),
        Row("anything/.priority", alice, .malformedKey, .bool(true)),
        Row(".priority", alice, .reserved), Row("users/.priority", alice, .reserved),
        Row("users/{a}/.priority", alice, nil), Row("users/{b}/.priority", alice, .notOwner),
        Row("channels/{name}/messages/{N}/.priority", alice, .notOwner),
        Row("channels/{name}/messages/{M}/.priority", alice, nil),
        Row("anything/{+}", alice, nil), Row("anything/{+}", alice, nil, .double(1.5)),
        Row("anything/{+}", bob, .notOwner),
        Row("anything/{+}", alice, .malformedKey, .null), Row("anything/{+}", alice, .malformedKey, .string("1")),
        Row("anything/{+future}", alice, .notOwner), Row("users/{b}/count/{+}", alice, .notOwner),
        Row("users/{a}/count/{+}", alice, nil), Row("retention/{M}/{M}/.priority", alice, .reserved),
        Row("rooms/{M}/epochs/{M}/.priority", alice, .reserved),
    ]

    private static func path(_ template: String) throws -> Path {
        var text = template
        for (name, value) in names {
            text = text.split(separator: "{\(name)}", omittingEmptySubsequences: false).joined(separator: value)
        }
        return try storedPath(text.split(separator: "/").map(String.init))
    }

    private static let rows = users + channels + messages + reactionsAndReads + softState + retention + direct + rooms

    @Test(arguments: rows) func row(row: Row) throws { try check(row) }
    @Test(arguments: elsewhere + engineKeys) func otherRow(row: Row) throws { try check(row) }

    private func check(_ row: Row) throws {
        let path = try OwnershipTests.path(row.path)
        let entry = try Entry(path: path, hlc: OwnershipTests.now, author: row.author, value: row.value)
        #expect(Ownership.denial(of: entry) == row.denial)
        let unknown = try Entry(path: path, hlc: OwnershipTests.now, author: row.author, value: row.value, kind: 9)
        #expect(Ownership.denial(of: unknown) == row.denial, "an unknown kind is judged like a set")
    }

    /// The key of an epoch covers its value: nobody, its author included, can put another there.
    @Test func epochsCoverTheirValue() throws {
        let (alice, now) = (OwnershipTests.alice, OwnershipTests.now)
        let value = OwnershipTests.object(("members", OwnershipTests.object(("a", .integer(0)))))
        var writer = CBORWriter()
        value.encode(to: &writer)
        let id = AutoID(hlc: now, author: alice, content: BLAKE2b.hash(writer.bytes).bytes)
        let room = try OwnershipTests.path("rooms/{N}/epochs")
        let path = try #require(room.appending(Key(id.text) ?? .priority))
        func denial(_ author: Bytes32, _ value: Value) throws -> Denial? {
            Ownership.denial(of: try Entry(path: path, hlc: now, author: author, value: value))
        }
        #expect(try denial(alice, value) == nil)
        #expect(try denial(OwnershipTests.bob, value) == .notOwner)
        #expect(try denial(alice, OwnershipTests.object(("members", .integer(1)))) == .notOwner)
        #expect(try denial(alice, .null) == .malformedKey)
    }

    /// Whether a place is open is what the table says of everybody: a stranger, and whoever is named in a path.
    @Test(arguments: 0..<4) func openIsWhereAnybodyMayWrite(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let words = [
            "users", "channels", "dms", "rooms", "presence", "retention", "apps", "x", "messages", "reads",
            "typingIndicator", "reactions", "epochs", "topic", "lunch", "0", ".priority", "{+}",
        ]
        let choices = words + Array(OwnershipTests.names.keys.sorted().map { "{\($0)}" })
        let authors = [Bytes32(repeating: 9), OwnershipTests.alice, OwnershipTests.bob, Bytes32(repeating: 3), .zero]
        let end = HLC(ms: HLC.msMax)
        var openCount = 0
        for _ in 0..<3000 {
            // The first levels decide: they are not left to chance alone.
            let starts = [
                ["channels"], ["channels", "{name}"], ["channels", "{push}", "messages"], ["rooms", "{M}"], [],
            ]
            var template = random.element(starts)
            for _ in 0..<(1 + random.below(4)) { template.append(random.element(choices)) }
            let text = template.joined(separator: "/")
            let path = try OwnershipTests.path(text)
            // An engine's key stands last.
            guard path.keys.dropLast().allSatisfy({ !$0.isEngine }) else { continue }
            // Only its author may add under an AutoID; the number that he adds to is everybody's or not.
            let place = path.last?.additionID == nil ? path : path.parent
            guard !place.isRoot else {
                #expect(!Ownership.isOpen(path))
                continue
            }
            let allowed = try authors.filter { author in
                let entry = try Entry(path: place, hlc: end, author: author, value: .integer(1))
                return Ownership.denial(of: entry) == nil
            }
            #expect(Ownership.isOpen(path) == (allowed.count == authors.count), "\(text)")
            if Ownership.isOpen(path) { openCount += 1 }
        }
        #expect(openCount > 300 && openCount < 2500)
        #expect(!Ownership.isOpen(.root))
    }

    @Test func softStateHasItsOwnPlaces() throws {
        let (alice, bob) = (OwnershipTests.alice, OwnershipTests.bob)
        func denial(_ path: String, _ author: Bytes32) throws -> Denial? {
            Ownership.softDenial(path: try OwnershipTests.path(path), author: author)
        }
        #expect(try denial("presence/{a}", alice) == nil)
        #expect(try denial("presence/{a}", bob) == .notOwner)
        #expect(try denial("channels/{name}/typingIndicator/{a}", alice) == nil)
        #expect(try denial("channels/{name}/typingIndicator/{a}", bob) == .notOwner)
        for path in ["presence", "presence/{a}/x", "channels/{name}/typingIndicator", "users/{a}", "x"] {
            #expect(try denial(path, alice) == .softOnly, "\(path)")
        }
    }
}
