import ControlAPI
import Foundation
import Glibc
@testable import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// Becoming somebody else on the same machine.
    @Suite struct IdentityTests {
        private func mode(_ path: String) -> UInt32 {
            var status = stat()
            return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
        }

        @Test func theNameStaysAndTheOldKeyIsKept() async throws {
            let home = try TestHome()
            let first = try await TestNode("anna", home: home)
            let client = try first.client()
            let key = try client.send(message: "by the old one")
            let old = UID.text(first.uid)
            let answer = try client.call("identity.new", ["uid": .string(old)])
            let new = try #require(answer["uid"]?.string)
            #expect(new != old && answer["previous"]?.string == old && answer["name"] == "anna")
            // A second request means the old one still and makes no third.
            #expect(try client.refusal("identity.new", ["uid": .string(old)]) == "not_found")
            #expect(try client.refusal("identity.new") == "invalid_params")
            await first.stop()

            let kept = home.file("identity-\(old).key")
            #expect(try IdentityFile.load(kept)?.publicKey == first.uid)
            for path in [kept, home.file("identity.key")] { #expect(mode(path) == 0o600, "\(path)") }
            let second = try await TestNode("", home: home) { $0.name = nil }
            #expect(UID.text(second.uid) == new)
            let again = try second.client()
            #expect(try again.status()["name"] == "anna")
            let message = try #require(try again.messages().first)
            #expect(message["senderId"]?.string == old && message["key"]?.string == key)
            #expect(message["verified"] == true)
            #expect(try again.refusal("message.edit", ["key": .string(key), "text": "x"]) == "permission_denied")
            #expect(try again.value("users/\(old)/displayName") == "anna")
            #expect(try again.value("users/\(new)/displayName") == "anna")
            // What was taken over is taken over once.
            try again.call("profile.set", ["name": "berta"])
            await second.stop()
            let third = try await TestNode("", home: home) { $0.name = nil }
            #expect(try third.client().status()["name"] == "berta")
        }

        /// The name of a person is not what the process was started with, and others see both.
        @Test func othersSeeBoth() async throws {
            let home = try TestHome()
            let bob = try await TestNode("bob")
            let first = try await TestNode("started as", home: home, peers: [bob])
            try first.client().call("profile.set", ["name": "now called"])
            try first.client().call("identity.new", ["uid": .string(UID.text(first.uid))])
            await first.stop()
            let second = try await TestNode("", home: home, peers: [bob]) { $0.name = nil }
            let watcher = try bob.client()
            try watcher.waitForPerson(UID.text(second.uid), "the new one") { $0["name"] == "now called" }
            try watcher.waitForPerson(UID.text(first.uid), "the old one") {
                $0["name"] == "now called" && $0["state"] == "offline"
            }
        }

        /// What stands in the way leaves everything as it was.
        @Test func whatFailsChangesNothing() async throws {
            let home = try TestHome()
            let node = try await TestNode("anna", home: home)
            let client = try node.client()
            let uid: JSON = .string(UID.text(node.uid))
            let key = try String(contentsOfFile: home.file("identity.key"), encoding: .utf8)
            // Neither a folder in the place of the old key nor one in that of the new one.
            let kept = home.file("identity-\(UID.text(node.uid)).key")
            for path in [kept, kept + ".new", home.file("identity.key.new")] {
                try FileManager.default.createDirectory(atPath: path + "/x", withIntermediateDirectories: true)
                #expect(try client.refusal("identity.new", ["uid": uid]) == "internal_error", "\(path)")
                try FileManager.default.removeItem(atPath: path)
            }
            // Somebody has put another key there, or opened this one to others.
            for change in ["starling-identity-1 \(SigningKey().seed.hex)\n", key] {
                try change.write(toFile: home.file("identity.key"), atomically: false, encoding: .utf8)
                _ = unsafe chmod(home.file("identity.key"), change == key ? 0o644 : 0o600)
                #expect(try client.refusal("identity.new", ["uid": uid]) == "permission_denied")
                #expect(try String(contentsOfFile: home.file("identity.key"), encoding: .utf8) == change)
            }
            _ = unsafe chmod(home.file("identity.key"), 0o600)
            try client.send(message: "still me")
            #expect(try client.call("identity.new", ["uid": uid])["previous"] == uid)
        }

        /// A process that dies before the new key is in place leaves the old identity, with a name for somebody who
        /// never came to be.
        @Test func dyingBeforeTheNewKeyIsInPlaceChangesNothing() async throws {
            let home = try TestHome()
            let node = try await TestNode("anna", home: home)
            let key = try String(contentsOfFile: home.file("identity.key"), encoding: .utf8)
            try node.client().call("identity.new", ["uid": .string(UID.text(node.uid))])
            await node.stop()
            try key.write(toFile: home.file("identity.key"), atomically: true, encoding: .utf8)
            _ = unsafe chmod(home.file("identity.key"), 0o600)
            try "half".write(toFile: home.file("identity.key.new"), atomically: false, encoding: .utf8)
            let again = try await TestNode("", home: home) { $0.name = nil }
            #expect(again.uid == node.uid)
            #expect(try again.client().status()["name"] == "anna")
            #expect(
                try again.client().call("identity.new", ["uid": .string(UID.text(node.uid))])["uid"]
                    != .string(UID.text(node.uid)))
        }
    }
}
