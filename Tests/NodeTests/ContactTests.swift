import ControlAPI
import Foundation
import Glibc
import Lab
@testable import Node
import Seal
import Store
import Testing
import Tree
import Wire

extension NodeTests {
    /// Clocks that are wrong, on real nodes.
    @Suite struct ContactTests {
        private static let yearMs: UInt64 = 365 * 24 * 3_600_000

        /// A home in which somebody has written while his clock was a year ahead, and who nobody has heard of since.
        private func homeOfTheFuture(_ count: Int) throws -> (home: TestHome, keys: [String], uid: Bytes32) {
            let home = try TestHome()
            let key = SigningKey()
            try IdentityFile.write(key, to: home.file("identity.key"))
            let store = try DatabaseStore(path: home.file("workspace.db"))
            defer { store.close() }
            #expect(try store.toldTime() == .zero)
            let channel = AutoID.nameKey(foldedName: "general", workspace: Workspace.open.id)
            var keys: [String] = []
            var hlc = HLC(ms: HostilePeer.nowMs + ContactTests.yearMs)
            var bundles: [Tree.Bundle] = []
            for number in 0..<count {
                hlc = HLC(ms: hlc.ms + 1000)
                let id = AutoID(hlc: hlc, author: key.publicKey)
                var pairs: [(Key, Value)] = [
                    (try #require(Key("senderId")), .string(UID.text(key.publicKey))),
                    (try #require(Key("senderName")), .string("anna")),
                    (try #require(Key("text")), .string("\(number)")),
                    (try #require(Key("createdAt")), .number(Int64(hlc.ms))),
                ]
                if let last = keys.last { pairs.append((try #require(Key("replyTo")), .string(last))) }
                let entry = try Entry(
                    path: Path(parsing: "channels/\(channel)/messages/\(id)"), hlc: hlc, author: key.publicKey,
                    value: .object(ObjectValue(pairs)))
                bundles.append(Tree.Bundle(signing: [entry], by: key, workspace: Workspace.open.id))
                keys.append(id.text)
            }
            _ = try store.commit(bundles, heldAfter: HLC.greatest)
            return (home, keys, key.publicKey)
        }

        /// Every message once, in order, each an answer to the one before, with a time of now.
        private func expectPresent(_ messages: [JSON], _ count: Int, _ old: [String]) throws {
            #expect(messages.compactMap { $0["text"]?.string } == (0..<count).map(String.init))
            let (now, gone) = (Int64(HostilePeer.nowMs), Set(old))
            var last: String?
            // One expectation for all of them: each costs as much as reading a message.
            let wrong = messages.filter { message in
                defer { last = message["key"]?.string }
                return message["key"]?.string.map(gone.contains) ?? true || message["verified"] != true
                    || message["replyTo"]?.string != last || abs((message["createdAt"]?.int ?? 0) - now) > 120_000
            }
            #expect(wrong.isEmpty)
        }

        /// The screen follows: what was there goes, what is there instead comes; an old key still finds its message.
        @Test func whatWasWrittenInTheFutureIsIssuedAnewOnFirstContact() async throws {
            let count = 250
            let (home, keys, uid) = try homeOfTheFuture(count)
            let bob = try await TestNode("bob")
            try bob.client().send(message: "hello")
            try bob.client().call("message.delete", ["key": .string(bob.client().messages()[0]["key"]?.string ?? "")])
            let anna = try await TestNode("anna", home: home)
            #expect(anna.uid == uid)
            let client = try anna.client()
            #expect(try client.messages().map { $0["key"]?.string } == keys)
            try client.call("message.observe", ["in": "#general", "limitToLast": 1000])
            try client.event("ready") { $0["event"] == "ready" }
            try client.call("node.addPeer", ["address": .string(bob.address)])
            var (deleted, added): (Set<String>, [String]) = ([], [])
            while deleted.count < count || added.count < count {
                guard let event = try? client.event("a change") else {
                    throw TestFailure("\(deleted.count) gone, \(added.count) come: \(anna.log)")
                }
                if event["event"] == "deleted" { deleted.insert(event["key"]?.string ?? "") }
                if event["event"] == "message" { added.append(event["message"]?["key"]?.string ?? "") }
            }
            #expect(deleted == Set(keys) && Set(added).count == count && added.allSatisfy { !keys.contains($0) })
            try client.waitUntilEqual(peers: 1)
            let watcher = try bob.client()
            for node in [client, watcher] { try expectPresent(node.messages(), count, keys) }
            #expect(try watcher.status()["held"]?.int == 0)
            // Later messages come later, also of those who have not been ahead.
            try client.send(message: "\(count)")
            try watcher.waitForMessage("\(count)")
            try watcher.send(message: "\(count + 1)")
            try client.waitForMessage("\(count + 1)")
            #expect(try client.texts().suffix(2) == ["\(count)", "\(count + 1)"])
            // Who kept a key finds his message.
            #expect(try client.call("message.edit", ["key": .string(keys[3]), "text": "3!"])["key"]?.string != keys[3])
            try client.waitUntilEqual(peers: 1)
            #expect(try watcher.texts()[3] == "3!")
            let retry: JSON = ["to": "#general", "text": "4", "key": .string(keys[4])]
            #expect(try client.call("message.send", retry)["key"]?.string != keys[4])
            #expect(try client.texts().count == count + 2)
            #expect(anna.logLines("have the present's time now").count == 1)
        }

        /// What others may have seen is not issued anew, and not either what was written in a second future.
        @Test func aProcessThatDiedInCompanyHasToldEverything() async throws {
            let (home, keys, _) = try homeOfTheFuture(3)
            do {
                let store = try DatabaseStore(path: home.file("workspace.db"))
                defer { store.close() }
                try store.beginContact()
            }
            let bob = try await TestNode("bob")
            try bob.client().send(message: "of now")
            let anna = try await TestNode("anna", home: home, peers: [bob])
            let client = try anna.client()
            try client.waitForMessage("of now")
            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            while try bob.client().status()["held"]?.int != 3 {
                guard deadline.leftMs > 0 else { throw TestFailure("not held") }
            }
            #expect(try client.messages().suffix(3).map { $0["key"]?.string } == keys)
            let held = try #require(try bob.client().status()["heldAuthors"]?.array?.first)
            let row = try HeldRow(json: held)
            #expect(row.uid == UID.text(anna.uid) && row.count == 3)
            #expect(row.skewMs > Int64(ContactTests.yearMs) - 60_000)
            // Her clock is right by now, and what she writes is seen.
            try client.send(message: "seen")
            try bob.client().waitForMessage("seen")
        }

        /// kill -9 in the middle, again and again: nothing is lost, nothing is doubled, and everything hangs together.
        @Test func killedWhileIssuingAnew() async throws {
            let count = 1000
            let (home, keys, _) = try homeOfTheFuture(count)
            let bob = try await TestNode("bob")
            try bob.client().send(message: "hello")
            try bob.client().call("message.delete", ["key": .string(bob.client().messages()[0]["key"]?.string ?? "")])
            let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("starlingd").path
            func start() throws -> LabProcess {
                try LabProcess(
                    [
                        program, "--home", home.path, "--name", "anna", "--listen", "127.0.0.1:0", "--no-discovery",
                        "--peer", bob.address,
                    ], environment: ["SWIFT_BACKTRACE": "enable=no"])
            }
            var random = SystemRandomNumberGenerator()
            for _ in 0..<4 {
                let daemon = try start()
                _ = try await daemon.nextLine(timeout: .seconds(60))
                let waitMs = Int32.random(in: 5...120, using: &random)
                await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                    Thread.detachNewThread {
                        poll(nil, 0, waitMs)
                        done.resume()
                    }
                }
                daemon.kill(SIGKILL)
                try await daemon.wait()
            }
            let daemon = try start()
            _ = try await daemon.nextLine(timeout: .seconds(60))
            let watcher = try bob.client()
            try watcher.waitForMessage("\(count - 1)")
            try watcher.waitUntilEqual(peers: 1)
            try expectPresent(watcher.messages(), count, keys)
            #expect(try watcher.status()["held"]?.int == 0)
            daemon.kill(SIGTERM)
            try await daemon.wait()
        }

        /// A wrong clock is said in words, once, and is over when others agree.
        @Test func aWrongClockIsSaidInWords() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            try client.call("node.observe")
            // Two clocks are read one after the other, and each counts whole milliseconds.
            #expect(try abs(client.status()["offsetMs"]?.int ?? .max) < 1000)
            var links: [HostilePeer] = []
            func vitals(aheadMs: UInt64) -> Vitals {
                let nowMs = HostilePeer.nowMs + aheadMs
                return Vitals(
                    clockMs: nowMs, isSynchronised: true, highWater: HLC(ms: nowMs),
                    root: DigestPrefix(count: 1, sum: 1))
            }
            for _ in 0..<3 {
                let peer = try HostilePeer(node)
                try peer.send(.hello(vitals(aheadMs: 2 * 3_600_000), peers: []))
                links.append(peer)
            }
            try links[2].synchronise(vitals(aheadMs: 2 * 3_600_000))
            let status = try client.status()
            let offsetMs = try #require(status["offsetMs"]?.int)
            #expect(abs(offsetMs - 2 * 3_600_000) < 5000)
            let notice = try client.event("the notice") { $0["notice"]?["kind"] == "clock" }["notice"]
            let row = try NoticeRow(json: try #require(notice))
            #expect(row.text.contains("119 minutes behind") || row.text.contains("2 hours behind"), "\(row.text)")
            #expect(row.text.contains("of the others") && row.text.contains("timedatectl"))
            let peers = try (status["peers"]?.array ?? []).map { try PeerRow(json: $0) }
            #expect(peers.count == 3)
            for peer in peers { #expect(abs((peer.skewMs ?? 0) - 2 * 3_600_000) < 5000) }
            #expect(node.logLines("clock").count == 1)
        }
    }
}
