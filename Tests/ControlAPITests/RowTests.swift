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
        let marked = PersonRow(
            uid: "u", name: "bob", state: .away, since: nil, muted: true, blocked: true, namesakeOf: "v")
        #expect(marked.json.description.hasSuffix(#""self":false,"muted":true,"blocked":true,"namesakeOf":"v"}"#))
        for row in [row, unseen, marked] { #expect(try PersonRow(json: row.json) == row) }
    }

    @Test func history() throws {
        let live = HistoryRow(
            id: "ab", path: "x/y", within: "x", value: .null, author: "u", authorName: "n", writtenAt: 5)
        #expect(
            live.json.description
                == #"{"id":"ab","path":"x/y","within":"x","value":null,"author":"u","authorName":"n","writtenAt":5,"#
                + #""live":true}"#)
        let dead = HistoryRow(
            id: "ab", path: "x", value: nil, tooLarge: 70_000, author: "u", authorName: "n", writtenAt: 5,
            death: .init(uid: "v", name: "m", at: 6, diedAt: 7))
        #expect(
            dead.json.description
                == #"{"id":"ab","path":"x","tooLarge":70000,"author":"u","authorName":"n","writtenAt":5,"#
                + #""replacedBy":"v","replacedByName":"m","replacedAt":6,"diedAt":7}"#)
        for row in [live, dead] { #expect(try HistoryRow(json: row.json) == row) }
    }

    @Test func status() throws {
        let peers = [
            PeerRow(
                uid: "u", name: "bob", address: "192.0.2.7:47474", state: .connected, rttMs: 0.25, skewMs: -3, lacks: 0,
                ahead: 2),
            PeerRow(uid: "", name: "", address: "[fe80::1%eth0]:47474", state: .unreachable),
        ]
        var row = StatusRow(
            uid: "u", name: "alice", workspace: "lan", version: "0.1", peers: peers, entries: 12, root: "ab", held: 0,
            skipped: 1, denied: 2, databaseBytes: 4096, discovery: "Avahi")
        row.offsetMs = -5
        row.heldAuthors = [HeldRow(uid: "v", name: "eve", count: 3, skewMs: 31_536_000_000)]
        row.notices = [NoticeRow(kind: .clock, text: "wrong"), NoticeRow(kind: .clone, uid: "u", text: "two")]
        #expect(try StatusRow(json: row.json) == row)
        let names = row.json.object?.members.map(\.key)
        #expect(
            names == [
                "uid", "name", "workspace", "version", "peers", "entries", "root", "held", "skipped", "denied",
                "databaseBytes", "discovery", "offsetMs", "heldAuthors", "notices",
            ])
        #expect(
            row.json["heldAuthors"]?.array?.first?.description
                == #"{"uid":"v","name":"eve","count":3,"skewMs":31536000000}"#)
        let over = NoticeRow(kind: .clone, uid: "u", text: "one again", isOver: true)
        #expect(over.json.description == #"{"kind":"clone","uid":"u","text":"one again","over":true}"#)
        #expect(try NoticeRow(json: over.json) == over)
        let unknown = peers[1].json.description
        #expect(
            unknown == #"{"uid":"","name":"","address":"[fe80::1%eth0]:47474","state":"unreachable","rttMs":null,"#
                + #""skewMs":null,"lacks":null,"ahead":null}"#)
    }

    @Test func diagnosis() throws {
        var peer = PeerRow(uid: "", name: "", address: "192.0.2.7:47474", state: .refused)
        (peer.path, peer.failure, peer.reason) = (.named, .key, "ended by the other side")
        (peer.heardMs, peer.refusals) = (5, 6)
        #expect(
            peer.json.description
                == #"{"uid":"","name":"","address":"192.0.2.7:47474","state":"refused","rttMs":null,"skewMs":null,"#
                + #""lacks":null,"ahead":null,"path":"named","heardMs":5,"refusals":6,"failure":"key","#
                + #""reason":"ended by the other side"}"#)
        peer.isNewer = false
        #expect(peer.json.description.hasSuffix(#","newer":false}"#))
        let heard = HeardRow(
            instance: "abc", interface: "eth0", host: "host2.local", addresses: ["192.0.2.7:47474"], isOurs: true,
            isConnected: false)
        let full = DiagnosisRow(
            process: 7, port: 47474, discovery: .down, reason: "Avahi is not running", instance: "abc", heard: [heard],
            peers: [peer], home: "/h", database: .damaged, damage: "row 7", isDiskFull: true, offsetMs: -5,
            notices: [NoticeRow(kind: .clock, text: "wrong")])
        let bare = DiagnosisRow(process: 7, port: 47474, discovery: .off, home: "/h", database: .sound)
        #expect(
            bare.json.description
                == #"{"process":7,"port":47474,"discovery":"off","heard":[],"peers":[],"home":"/h","database":"sound","#
                + #""diskFull":false,"offsetMs":0,"notices":[]}"#)
        for row in [full, bare] { #expect(try DiagnosisRow(json: row.json) == row) }
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
