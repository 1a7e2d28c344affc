import ControlAPI
import Foundation
import Lab
import Seal
import Testing
import Tree
import Wire

/// What does not belong on a port or on the socket costs one line in the log and nothing else.
@Suite(.serialized, .showsLogs)
struct HostileTests {
    /// First bytes of somebody who is no Starling node or client.
    private static func openings() throws -> [(name: String, bytes: [UInt8])] {
        var foreign = LinkInitiator(
            psk: LinkKey.psk(networkKey: SecureRandom.bytes32()), workspace: SecureRandom.bytes32(),
            identity: SigningKey(), payload: LinkPayload(instance: 1, port: 1).encoded)
        // The first byte is not one that begins JSON, or it would be a line that is still to be finished.
        let random = [UInt8(0x90)] + SecureRandom.bytes(100_000)
        return [
            ("another network key", try foreign.start()),
            ("HTTP", Array("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n".utf8)),
            ("TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]),
            ("SSH", Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8)), ("random bytes", random),
            ("a length of 1 GiB", [0x40, 0x00, 0x00, 0x00]),
            ("a length of 1 GiB behind the magic", Array("STR1".utf8) + [0x40, 0x00, 0x00, 0x00]),
            ("a handshake message of 64 KiB", Array("STR1".utf8) + [0xFF, 0xFF]),
        ]
    }

    private func lines(_ machine: Machine) throws -> Int { try machine.daemon.errors.text.utf8.count { $0 == 0x0A } }

    /// Every opening, several times: each ends its connection and adds a line; after the first time, memory stays.
    private func attack(_ machine: Machine, _ kind: String, connect: () throws -> RawConnection) async throws {
        let rounds = 12
        var residentKB = 0
        for round in 0..<rounds {
            for (name, bytes) in try Self.openings() {
                let before = try lines(machine)
                let connection = try connect()
                connection.send(bytes)
                #expect(connection.lastWords() != nil, "\(name) on the \(kind) is not closed")
                try await eventually("\(name) on the \(kind) is logged", within: .seconds(20)) {
                    try lines(machine) > before
                }
                #expect(try lines(machine) == before + 1, "\(name) on the \(kind)")
            }
            if round == 1 { residentKB = try machine.residentKB() }
        }
        let growthKB = try machine.residentKB() - residentKB
        #expect(growthKB < 2_048, "\(growthKB) kB more after strangers on the \(kind)")
    }

    @Test(.timeLimit(.minutes(2))) func strangersAreClosedWithALine() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        try await ann.say("before")
        let port = try await ann.port
        let socket = try #require(ann.home) + "/starling.sock"
        // Who says nothing has five seconds on the port; the others are served meanwhile.
        let silent = try RawConnection(port: port)
        try await attack(ann, "port") { try RawConnection(port: port) }
        try await attack(ann, "socket") { try RawConnection(path: socket) }
        #expect(silent.lastWords(within: .seconds(6)) == [])

        #expect(try await ann.present() == ["ann", "bob"])
        try await bob.say("after")
        try await eventually("ann reads it", within: .seconds(20)) { try await ann.texts() == ["before", "after"] }
    }

    /// What is refused on the socket is refused in words that a program can read.
    @Test(.timeLimit(.minutes(1))) func aClientIsToldWhatIsWrong() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let socket = try #require(ann.home) + "/starling.sock"
        func answer(to bytes: [UInt8]) throws -> JSON {
            let connection = try RawConnection(path: socket)
            connection.send(bytes)
            let words = try #require(connection.lastWords(within: .seconds(10)))
            let lines = String(decoding: words, as: UTF8.self).split(separator: "\n")
            #expect(lines.count == 2)
            return try JSON.parse(String(try #require(lines.last)))
        }
        let http = try answer(to: Array("GET / HTTP/1.1\r\n\r\n".utf8))
        #expect(http["error"]?["data"]?["reason"] == "parse_error" && http["id"] == .null)
        let broken = try answer(to: Array("{\"jsonrpc\":\n".utf8))
        #expect(broken["error"]?["code"] == -32700)
        let endless = try answer(to: Array("{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: 5 << 20))
        #expect(endless["error"]?["data"]?["reason"] == "too_large")

        // Whoever has spoken well may make a mistake.
        let bot = try ann.attach()
        try bot.request(1, "node.status")
        _ = try await bot.answer(1)
        try bot.send(line: "{oops")
        #expect(try await bot.nextRow { $0["id"] == .null }["error"]?["code"] == -32700)
        try bot.request(2, "no.such.method")
        #expect(try await bot.answer(2)["error"]?["code"] == -32601)
        #expect(bot.isRunning)
    }

    /// Somebody who knows the network key cannot write in another's name or place, however he wraps it.
    @Test(.timeLimit(.minutes(1))) func forgedBundlesChangeNothing() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        try await meet(ann, bob)
        let general = try #require(try await ann.row("channels")["key"]?.string)
        let key = try await ann.say("what ann said")
        let annKey = try #require(try await ann.row("identity", "show")["uid"]?.string.flatMap(UID.parse))
        let intruder = try Intruder(port: try await ann.port)
        let messages = "channels/\(general)/messages"
        let text = Value.object(ObjectValue([(try #require(Key("text")), .string("forged"))]))
        let message = Value.object(ObjectValue([(try #require(Key(key)), text)]))
        let channel = Value.object(ObjectValue([(try #require(Key("messages")), message)]))
        let attempts = [
            // Signed by the intruder, in a place that is not his.
            intruder.signed(try intruder.entry("\(messages)/\(key)/text", .string("forged"))),
            intruder.signed(try intruder.entry("\(messages)/\(key)", .null)),
            intruder.signed(try intruder.entry(messages, message)),
            intruder.signed(try intruder.entry("channels/\(general)", channel)),
            intruder.signed(try intruder.entry("users/\(UID.text(annKey))/displayName", .string("forged"))),
            // In ann's name, without her signature.
            try intruder.forged(try intruder.entry("\(messages)/\(key)/text", .string("forged"), author: annKey)),
            try intruder.forged(try intruder.entry("apps/board/name", .string("forged"), author: annKey)),
        ]
        let honest = intruder.signed(try intruder.entry("apps/board/note", .string("anybody may")))
        try intruder.send(.bundles(attempts + [honest]))
        for machine in [ann, bob] {
            try await eventually("the honest part arrives", within: .seconds(20)) {
                try await machine.row("tree", "get", "apps/board") == ["note": "anybody may"]
            }
        }
        try await converge(ann, bob)
        for machine in [ann, bob] {
            let row = try await machine.row("read", "general")
            #expect(row["text"] == "what ann said" && row["editedAt"] == nil && row["senderName"] == "ann")
            #expect(try await machine.present().contains("ann"))
        }
        #expect(try await ann.row("status")["denied"] == .int(Int64(attempts.count)))
        #expect(try await bob.row("status")["denied"] == 0)
        let peers = try await ann.row("status")["peers"]?.array ?? []
        #expect(
            peers.first { $0["uid"]?.string == UID.text(intruder.key.publicKey) }?["refusals"]
                == .int(Int64(attempts.count)))
        #expect(peers.first { $0["name"] == "bob" }?["refusals"] == 0)
    }
}
