import ControlAPI
import Testing

/// The JSON of each row is the fixed surface that scripts rely on: here it stands as text.
struct RowTests {
    @Test func message() throws {
        let plain = MessageRow(
            key: "k", channel: "c", senderId: "u", senderName: "alice", text: "hi", createdAt: 5, verified: true)
        #expect(
            plain.json.description
                == #"{"key":"k","in":"c","senderId":"u","senderName":"alice","text":"hi","createdAt":5,"#
                + #""verified":true}"#
        )
        let full = MessageRow(
            key: "k", channel: "c", senderId: "u", senderName: "n", text: nil, createdAt: 5, verified: false,
            replyTo: "r", editedAt: 6, attachment: ["name": "x"],
            reactions: [.init(emoji: "👍", uids: ["a", "b"]), .init(emoji: "🎉", uids: ["c"])])
        #expect(
            full.json.description
                == #"{"key":"k","in":"c","senderId":"u","senderName":"n","createdAt":5,"verified":false,"replyTo":"r","#
                + #""editedAt":6,"attachment":{"name":"x"},"reactions":{"👍":["a","b"],"🎉":["c"]}}"#)
        let gone = MessageRow.deleted(key: "k", channel: "c")
        #expect(gone.json.description == #"{"key":"k","in":"c","deleted":true}"#)
        for row in [plain, full, gone] { #expect(try MessageRow(json: row.json) == row) }
    }

    @Test func channel() throws {
        let bare = ChannelRow(key: "k", name: "general")
        #expect(bare.json.description == #"{"key":"k","name":"general","unread":0}"#)
        let full = ChannelRow(key: "k", name: "n", topic: "t", unread: 3, last: "m", archived: true)
        #expect(
            full.json.description == #"{"key":"k","name":"n","topic":"t","unread":3,"last":"m","archived":true}"#)
        for row in [bare, full] { #expect(try ChannelRow(json: row.json) == row) }
    }

    @Test func person() throws {
        let row = PersonRow(
            uid: "u", name: "alice", state: .online, since: 7, typing: ["c"], verified: true, isSelf: false)
        #expect(
            row.json.description
                == #"{"uid":"u","name":"alice","state":"online","since":7,"typing":["c"],"verified":true,"self":false}"#
        )
        let unseen = PersonRow(uid: "u", name: "", state: .offline, since: nil)
        for row in [row, unseen] { #expect(try PersonRow(json: row.json) == row) }
    }

    @Test func status() throws {
        let peers = [
            PeerRow(
                uid: "u", name: "bob", address: "192.0.2.7:47474", state: .connected, rttMs: 0.25, skewMs: -3, lacks: 0,
                ahead: 2),
            PeerRow(uid: "", name: "", address: "[fe80::1%eth0]:47474", state: .unreachable),
        ]
        let row = StatusRow(
            uid: "u", name: "alice", workspace: "lan", version: "0.1", peers: peers, entries: 12, root: "ab", held: 0,
            skipped: 1, denied: 2, databaseBytes: 4096, discovery: "Avahi")
        #expect(try StatusRow(json: row.json) == row)
        let names = row.json.object?.members.map(\.key)
        #expect(
            names == [
                "uid", "name", "workspace", "version", "peers", "entries", "root", "held", "skipped", "denied",
                "databaseBytes", "discovery",
            ])
        let unknown = peers[1].json.description
        #expect(
            unknown == #"{"uid":"","name":"","address":"[fe80::1%eth0]:47474","state":"unreachable","rttMs":null,"#
                + #""skewMs":null,"lacks":null,"ahead":null}"#)
    }

    @Test func verify() throws {
        let row = VerifyRow(uid: "u", name: "bob", equal: false, theyLack: 3, weLack: 0)
        #expect(
            row.json.description == #"{"uid":"u","name":"bob","equal":false,"theyLack":3,"weLack":0}"#)
        #expect(try VerifyRow(json: row.json) == row)
    }

    @Test func aMissingOrWrongFieldIsNamed() {
        let missing = RPCError.invalidParams("name must be a string")
        #expect(throws: missing) { try ChannelRow(json: ["key": "k", "unread": 0]) }
        #expect(throws: missing) { try ChannelRow(json: ["key": "k", "name": 1, "unread": 0]) }
        let wrong = RPCError.invalidParams("typing must be an array of strings")
        #expect(throws: wrong) {
            try PersonRow(json: ["uid": "u", "name": "n", "state": "online", "typing": [1]])
        }
        #expect(throws: RPCError.self) { try MessageRow(json: []) }
    }

    @Test func nullIsAsGoodAsMissing() throws {
        let row = try ChannelRow(json: ["key": "k", "name": "n", "topic": .null, "unread": 0, "last": .null])
        #expect(row == ChannelRow(key: "k", name: "n"))
    }
}
