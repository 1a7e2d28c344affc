import ControlAPI
import Foundation
import Glibc
import Lab
import Net
@testable import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Private workspaces on real nodes.
    @Suite struct WorkspaceTests {
        private func mode(_ path: String) -> UInt32 {
            var status = stat()
            return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
        }

        @Test func membersTalkAndOthersStayOut() async throws {
            let anna = try await TestNode.founded("anna")
            let atAnna = try anna.client()
            #expect(atAnna.hello["params"]?["workspace"] == "team")
            #expect(try atAnna.status()["name"] == "anna")
            let bob = try await TestNode.joined("bob", anna.invite())
            let atBob = try bob.client()
            try atBob.waitForPerson(UID.text(anna.uid), "anna online") {
                $0["state"] == "online" && $0["name"] == "anna"
            }
            let key = try atAnna.send(message: "among us")
            try atBob.waitForMessage("among us")
            for node in [anna, bob] {
                let row = try node.client().call("workspace.show")
                #expect(row["name"] == "team" && row["private"] == true && row["readers"] == "members")
                #expect(row["creator"]?.string == UID.text(anna.uid) && row["epoch"] == 0)
                #expect(mode(node.home.file("workspace.key")) == 0o600)
                #expect(try !node.log.contains(node.networkKey()), "the key is in the log")
            }

            // Whoever has not the key gets nowhere, in either direction, and hears nothing.
            let eve = try await TestNode("eve", peers: [anna, bob])
            try await anna.waitForLog("another network key")
            try await bob.waitForLog("another network key")
            let stranger = try RawTCP(port: anna.port)
            try stranger.send(Array("STR1".utf8) + [0, 48] + SecureRandom.bytes(48))
            #expect(try stranger.receive() == nil)
            try anna.client().call("node.addPeer", ["address": .string(eve.address)])
            try await eve.waitForLog("another network key")
            #expect(try eve.client().messages().isEmpty)
            let people = try eve.client().call("people.list")["people"]?.array ?? []
            #expect(people.map { $0["name"]?.string } == ["eve"])
            #expect(try atBob.messages().first?["key"]?.string == key)
        }

        /// What was written in either workspace stays there, and comes back.
        @Test func aHomeIsInOneAtATime() async throws {
            let before = try await TestNode("anna")
            try before.client().send(message: "for anybody")
            try before.client().call("profile.set", ["name": "Anna A."])
            try before.client().call("workspace.create", ["name": "team"])
            // The node is about to start anew: it goes nowhere else meanwhile.
            #expect(try before.client().refusal("workspace.create", ["name": "other"]) == "busy")
            let anna = try await before.restarted()
            let atAnna = try anna.client()
            #expect(try atAnna.messages().isEmpty)
            #expect(try atAnna.status()["name"] == "Anna A.")
            try atAnna.send(message: "for us")
            let invite = try anna.invite()
            #expect(try atAnna.refusal("workspace.create", ["name": "second"]) == "permission_denied")
            let foreign = Invite(Workspace(name: "elsewhere", creator: anna.uid), expiresMs: nil, addresses: [])
            #expect(try atAnna.refusal("workspace.join", ["invite": .string(foreign.link)]) == "permission_denied")

            let left = try atAnna.call("workspace.leave")
            let kept = (left["kept"]?.array ?? []).compactMap(\.string)
            let away = try await anna.restarted()
            #expect(kept.count == 2 && kept.allSatisfy { FileManager.default.fileExists(atPath: $0) }, "\(kept)")
            for path in kept { #expect(mode(path) == 0o600) }
            #expect(try !away.home.files.contains("workspace.key"))
            #expect(try away.client().texts() == ["for anybody"])
            #expect(try away.client().call("workspace.show")["readers"] == "anybody on the network")
            #expect(try away.client().refusal("workspace.leave") == "invalid_request")
            #expect(try away.client().refusal("workspace.invite") == "invalid_request")

            try away.client().call("workspace.join", ["invite": .string(invite)])
            let again = try await away.restarted()
            #expect(try again.client().texts() == ["for us"])
        }

        /// Whenever the process dies on the way from one workspace to another, the next start completes it.
        @Test func aMoveThatWasCutShortIsCompleted() async throws {
            let anna = try await TestNode.founded("anna")
            try anna.client().send(message: "for us")
            let id = try #require(try anna.client().call("workspace.show")["id"]?.string)
            let aside = anna.home.file("workspace-\(id.prefix(16)).db")
            await anna.stop()
            // The database was set aside, and no other took its place.
            let open = anna.home.file("workspace-\(Workspace.open.id.hex.prefix(16)).db")
            #expect(FileManager.default.fileExists(atPath: open))
            try FileManager.default.moveItem(atPath: anna.home.file("workspace.db"), toPath: aside)
            let again = try await anna.startedAgain()
            #expect(try again.client().texts() == ["for us"])
            await again.stop()
            // Two of one workspace: nobody guesses.
            try FileManager.default.copyItem(atPath: open, toPath: aside)
            try FileManager.default.removeItem(atPath: anna.home.file("workspace.key"))
            await #expect(throws: NodeError.self) { _ = try await anna.startedAgain() }
            try FileManager.default.removeItem(atPath: aside)
            let away = try await anna.startedAgain()
            #expect(try away.client().texts().isEmpty)
        }

        @Test(arguments: ["", "open", " a", "a ", "a\nb", "a\u{1b}[2J", String(repeating: "x", count: 81)])
        func namesThatAreNone(name: String) async throws {
            let node = try await TestNode("anna")
            #expect(try node.client().refusal("workspace.create", ["name": .string(name)]) == "invalid_params")
            #expect(try !node.home.files.contains("workspace.key"))
        }

        /// A file with keys is as closed as the identity's, and says what it is.
        @Test func aLooseOrDamagedFileIsRefused() async throws {
            let anna = try await TestNode.founded("anna")
            await anna.stop()
            let path = anna.home.file("workspace.key")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            for mode in [0o644, 0o640, 0o660] as [mode_t] {
                _ = unsafe chmod(path, mode)
                let error = await #expect(throws: NodeError.self) { _ = try await anna.startedAgain() }
                #expect(error?.code == .unsafeFile && error?.description.contains("chmod 600") == true)
            }
            _ = unsafe chmod(path, 0o600)
            let (keyless, renamed) = (text.replacing("key ", with: "kye "), text.replacing("team", with: "open"))
            for content in ["", "x", keyless, renamed] {
                try content.write(toFile: path, atomically: false, encoding: .utf8)
                let error = await #expect(throws: NodeError.self) { _ = try await anna.startedAgain() }
                #expect(error?.code == .fileSystem, "\(content)")
            }
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            let again = try await anna.startedAgain()
            #expect(try again.client().call("workspace.show")["name"] == "team")
        }

        /// A new database in the place of a damaged one is of the same workspace.
        @Test func aDamagedDatabaseStaysInItsWorkspace() async throws {
            let anna = try await TestNode.founded("anna")
            try anna.client().send(message: "for us")
            let bob = try await TestNode.joined("bob", anna.invite())
            try bob.client().waitForMessage("for us")
            await bob.stop()
            for name in ["workspace.db", "workspace.db-wal"] {
                try Data(repeating: 0x5A, count: 9000).write(to: URL(fileURLWithPath: bob.home.file(name)))
            }
            let again = try await bob.startedAgain()
            try again.client().waitForMessage("for us")
            await again.stop()
            let third = try await bob.startedAgain()
            #expect(try third.client().texts() == ["for us"])
        }

        // MARK: Invites

        @Test func expiredAndDamagedInvitesAreRefused() async throws {
            let node = try await TestNode("bob")
            let client = try node.client()
            let workspace = Workspace(name: "team", creator: node.uid)
            let expired = Invite(workspace, expiresMs: HostilePeer.nowMs - 1, addresses: []).link
            #expect(try client.refusal("workspace.join", ["invite": .string(expired)]) == "permission_denied")
            let good = Invite(workspace, expiresMs: HostilePeer.nowMs + 3_600_000, addresses: []).link
            for bad in ["", "starling://join/", String(good.dropLast()), good + "a", "http://x", good.uppercased()] {
                #expect(try client.refusal("workspace.join", ["invite": .string(bad)]) == "invalid_params", "\(bad)")
            }
            #expect(try client.refusal("workspace.join") == "invalid_params")
            try client.call("workspace.join", ["invite": .string("\n \(good) \n")])
            let again = try await node.restarted()
            #expect(try again.client().call("workspace.show")["name"] == "team")
        }

        @Test func anInviteSaysWhenItExpires() async throws {
            let node = try await TestNode.founded("anna")
            let client = try node.client()
            let answer = try client.call("workspace.invite", ["expiresMs": 60_000])
            let expiresMs = try #require(answer["expiresAt"]?.int)
            let now = Int64(HostilePeer.nowMs)
            #expect((now - 60_000...now + 60_000).contains(expiresMs))
            let invite = try Invite(link: try #require(answer["link"]?.string))
            #expect(invite.expiresMs == UInt64(expiresMs))
            #expect(try client.call("workspace.invite")["expiresAt"] == nil)
            for bad in [0, -1, Int64.max] {
                #expect(try client.refusal("workspace.invite", ["expiresMs": .int(bad)]) == "invalid_params")
            }
        }

        /// The daemon takes an invite at its start, once.
        @Test func anInviteOnTheCommandLine() async throws {
            let anna = try await TestNode.founded("anna")
            try anna.client().send(message: "for us")
            let invite = try Invite(link: anna.invite())
            let bob = try await TestNode("bob") { $0.invite = invite }
            try bob.client().waitForMessage("for us")
            await bob.stop()
            let again = try await TestNode("bob", home: bob.home) { $0.invite = invite }
            #expect(try again.client().texts() == ["for us"])
            await again.stop()
            let foreign = Invite(Workspace(name: "elsewhere", creator: anna.uid), expiresMs: nil, addresses: [])
            await #expect(throws: NodeError.self) {
                _ = try await TestNode("bob", home: bob.home) { $0.invite = foreign }
            }
            await #expect(throws: NodeError.self) {
                _ = try await TestNode("bob", home: bob.home) { $0.workspaceName = "open" }
            }
            let third = try await TestNode("bob", home: bob.home) { $0.workspaceName = "team" }
            #expect(try third.client().texts() == ["for us"])
        }
    }

    /// What a link and a file hold, without a node.
    @Suite struct InviteTests {
        @Test func aLinkHoldsEverything() throws {
            let workspace = Workspace(
                name: "Büro 7", id: Bytes32(repeating: 1), networkKey: Bytes32(repeating: 2),
                creator: Bytes32(repeating: 3), epoch: .max, previousKeys: [Bytes32(repeating: 4)])
            let addresses = try ["10.0.0.7:47474", "[fd00::1]:1"].map { try #require(SocketAddress($0)) }
            let invite = Invite(workspace, expiresMs: 1_800_000_000_000, addresses: addresses)
            let read = try Invite(link: invite.link)
            #expect(read == invite && read.workspace.previousKeys.isEmpty && read.addresses == addresses)
            #expect(invite.link.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            // Short enough to be scanned from a screen.
            #expect(invite.link.utf8.count < 260)
        }

        @Test func everyChangeIsNoticed() throws {
            let workspace = Workspace(name: "team", creator: Bytes32(repeating: 3))
            let link = Invite(workspace, expiresMs: nil, addresses: []).link
            for index in Invite.scheme.utf8.count..<link.utf8.count {
                var bytes = Array(link.utf8)
                bytes[index] = bytes[index] == UInt8(ascii: "a") ? UInt8(ascii: "b") : UInt8(ascii: "a")
                #expect(throws: NodeError.self, "\(index)") { try Invite(link: String(decoding: bytes, as: UTF8.self)) }
            }
        }

        @Test func aFileHoldsEverything() throws {
            let workspace = Workspace(
                name: "a  b", id: Bytes32(repeating: 1), networkKey: Bytes32(repeating: 2),
                creator: Bytes32(repeating: 3), epoch: 7, previousKeys: [Bytes32(repeating: 4), Bytes32(repeating: 5)])
            var membership = Membership(workspace, addresses: [try #require(SocketAddress("[fd00::1]:1"))])
            membership.removed = [Bytes32(repeating: 6), Bytes32(repeating: 7)]
            #expect(Membership(text: membership.text) == membership)
            for word in ["name", "id", "creator", "epoch", "key"] {
                let lines = membership.text.split(separator: "\n").filter { !$0.hasPrefix(word + " ") }
                #expect(Membership(text: lines.joined(separator: "\n")) == nil, "\(word)")
            }
        }

        /// A blank and an accent after it are one character for Swift, and two for the file.
        @Test(arguments: [
            "e\u{301}cole", "a \u{301}b", "x \u{200D}y", "\u{1F469}\u{200D}\u{1F467} team", "\u{5E9}\u{5DC}",
        ])
        func everyNameLasts(_ name: String) throws {
            #expect(Workspace.isName(name))
            let membership = Membership(Workspace(name: name, creator: .zero))
            #expect(Membership(text: membership.text) == membership)
        }

        @Test(arguments: ["", " a", "a ", "open", "a\nb", "\u{301}abc", "\u{200D}a", "\u{FE0F}a", "\u{20E0}"])
        func noNameIs(_ name: String) { #expect(!Workspace.isName(name)) }

        /// Who has missed some changes of the key recognises the others as long as they have his.
        @Test func membersWhoWereAwayAreFound() {
            var workspace = Workspace(name: "team", creator: .zero)
            var known = [workspace]
            for epoch in 1...12 as ClosedRange<UInt64> {
                workspace = workspace.moved(to: SecureRandom.bytes32(), epoch: epoch)
                known.append(workspace)
                let pairs = workspace.announcement()
                #expect(pairs.reduce(0) { $0 + $1.0.utf8.count + $1.1.count + 2 } < 200)
                let txt = Dictionary(uniqueKeysWithValues: pairs)
                for (number, old) in known.enumerated() {
                    #expect(old.isAnnounced(in: txt) == (Int(epoch) - number <= Workspace.previousKeysMax))
                }
                #expect(!Workspace.open.isAnnounced(in: txt))
                #expect(!workspace.isAnnounced(in: ["s": txt["s"] ?? [], "q": [1, 2, 3]]))
            }
        }

        /// Of earlier keys so many are kept that a stranger costs little.
        @Test func earlierKeysAreFew() {
            var workspace = Workspace(name: "team", creator: .zero)
            let first = workspace.networkKey
            for epoch in 1...20 as ClosedRange<UInt64> {
                workspace = workspace.moved(to: Bytes32(repeating: UInt8(epoch)), epoch: epoch)
            }
            #expect(workspace.psks.count == 1 + Workspace.previousKeysMax && workspace.epoch == 20)
            #expect(workspace.previousKeys.first == Bytes32(repeating: 19) && !workspace.previousKeys.contains(first))
        }
    }
}
