import ControlAPI
import Foundation
import Glibc
import Lab
@testable import Node
import Replication
import Seal
import Store
import Testing
import Tree

extension NodeTests {
    /// What a node finds in its home when it starts.
    @Suite struct HomeTests {
        /// Why a node does not start in a home.
        private func refusal(_ home: TestHome) async -> NodeError? {
            do {
                _ = try await TestNode("anna", home: home)
                return nil
            } catch {
                return error as? NodeError ?? NodeError(.usage, "\(error)")
            }
        }

        private func mode(_ path: String) -> UInt32 {
            var status = stat()
            return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
        }

        @Test func everythingIsClosedToOthers() async throws {
            let node = try await TestNode("anna")
            #expect(mode(node.home.path) == 0o700)
            for name in ["starling.sock", "identity.key", "workspace.db", "lock"] {
                #expect(mode(node.home.file(name)) == 0o600, "\(name)")
            }
        }

        @Test func aSecondNodeInOneHomeIsRefused() async throws {
            let home = try TestHome()
            let first = try await TestNode("anna", home: home)
            let error = await refusal(home)
            #expect(error?.code == .alreadyRunning)
            #expect(error?.description.contains(home.path) == true)
            #expect(try first.client().call("node.status")["name"]?.string == "anna")
            await first.stop()
            #expect(await refusal(home) == nil)
        }

        @Test(arguments: [0o644, 0o640, 0o604, 0o660] as [mode_t])
        func aKeyThatOthersCanReadIsRefused(mode: mode_t) async throws {
            let home = try TestHome()
            await (try TestNode("anna", home: home)).stop()
            _ = unsafe chmod(home.file("identity.key"), mode)
            let error = await refusal(home)
            #expect(error?.code == .unsafeFile)
            #expect(error?.description.contains("chmod 600") == true)
            _ = unsafe chmod(home.file("identity.key"), 0o600)
            #expect(await refusal(home) == nil)
        }

        @Test func aKeyThatIsNoneIsRefused() async throws {
            let home = try TestHome()
            let path = home.file("identity.key")
            for content in ["", "nonsense\n", "starling-identity-1 12\n", String(repeating: "a", count: 100_000)] {
                try content.write(toFile: path, atomically: false, encoding: .utf8)
                _ = unsafe chmod(path, 0o600)
                #expect(await refusal(home)?.code == .fileSystem, "\(content.prefix(20))")
            }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
            #expect(await refusal(home)?.code == .unsafeFile)
        }

        @Test(arguments: [0o777, 0o770, 0o722] as [mode_t])
        func aHomeThatOthersCanWriteToIsRefused(mode: mode_t) async throws {
            let home = try TestHome()
            _ = unsafe chmod(home.path, mode)
            let error = await refusal(home)
            #expect(error?.code == .unsafeFile)
            #expect(error?.description.contains("chmod 700") == true)
        }

        @Test func aHomeThatOthersCanReadIsClosed() async throws {
            let home = try TestHome()
            _ = unsafe chmod(home.path, 0o755)
            let node = try await TestNode("anna", home: home)
            #expect(mode(node.home.path) == 0o700)
        }

        /// Whatever stands where the socket belongs: a socket that nobody serves is replaced, everything else left
        /// alone.
        @Test func onlyAStaleSocketIsReplaced() async throws {
            let home = try TestHome()
            let target = home.file("precious")
            try "data".write(toFile: target, atomically: false, encoding: .utf8)
            try FileManager.default.createSymbolicLink(atPath: home.socketPath, withDestinationPath: target)
            #expect(await refusal(home) != nil)
            #expect(try String(contentsOfFile: target, encoding: .utf8) == "data")
            try FileManager.default.removeItem(atPath: home.socketPath)
            try "data".write(toFile: home.socketPath, atomically: false, encoding: .utf8)
            #expect(await refusal(home) != nil)
            try FileManager.default.removeItem(atPath: home.socketPath)

            let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) {
                unsafe $0.copyBytes(from: Array(home.socketPath.utf8))
            }
            _ = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(stale, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            close(stale)
            let node = try await TestNode("anna", home: home)
            #expect(try node.client().call("node.status")["name"]?.string == "anna")
        }

        /// SQLite would follow a link, and change what it leads to.
        @Test func aDatabaseThatIsALinkIsRefused() async throws {
            let home = try TestHome()
            let target = home.file("precious")
            try "data".write(toFile: target, atomically: false, encoding: .utf8)
            _ = unsafe chmod(target, 0o644)
            for name in ["workspace.db", "workspace.db-wal"] {
                try FileManager.default.createSymbolicLink(atPath: home.file(name), withDestinationPath: target)
                let error = await refusal(home)
                #expect(error?.code == .unsafeFile && error?.description.contains(name) == true)
                try FileManager.default.removeItem(atPath: home.file(name))
            }
            #expect(try String(contentsOfFile: target, encoding: .utf8) == "data" && mode(target) == 0o644)
            #expect(await refusal(home) == nil)
        }

        /// Where a link of somebody else leads may be another place tomorrow.
        @Test func aHomeBehindALink() async throws {
            let (home, links) = (try TestHome(), try TestHome())
            let link = links.file("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: home.path)
            let found = try NodeHome(directory: link) { _ in nil }
            try found.prepare()
            // Only root can give one away.
            guard geteuid() == 0 else { return }
            #expect(unsafe lchown(link, 65534, 65534) == 0)
            let error = #expect(throws: NodeError.self) { try found.prepare() }
            #expect(error?.code == .unsafeFile && error?.description.contains("link") == true)
        }

        /// Nor is a folder or a file of somebody else taken.
        @Test func whatBelongsToOthersIsRefused() async throws {
            guard geteuid() == 0 else { return }
            let home = try TestHome()
            await (try TestNode("anna", home: home)).stop()
            for name in ["workspace.db", "identity.key", "lock"] {
                #expect(unsafe chown(home.file(name), 65534, 65534) == 0)
                #expect(await refusal(home) != nil, "\(name)")
                #expect(unsafe chown(home.file(name), 0, 0) == 0)
            }
            #expect(unsafe chown(home.path, 65534, 65534) == 0)
            #expect(await refusal(home)?.code == .unsafeFile)
            #expect(unsafe chown(home.path, 0, 0) == 0)
            #expect(await refusal(home) == nil)
        }

        @Test func foldersThatAreNoAbsolutePathsAreIgnored() throws {
            func home(_ variables: [String: String]) throws -> NodeHome {
                try NodeHome(directory: nil) { variables[$0] }
            }
            let usual = try home(["HOME": "/h"])
            #expect(usual.dataDirectory == "/h/.local/share/starling")
            #expect(usual.socketPath == "/h/.local/state/starling/starling.sock")
            for other in ["", "data", "./data"] {
                let found = try home(["HOME": "/h", "XDG_DATA_HOME": other, "XDG_RUNTIME_DIR": other])
                #expect(found.dataDirectory == usual.dataDirectory && found.socketPath == usual.socketPath)
                #expect(throws: NodeError.self) { try home(["HOME": other]) }
            }
            #expect(try home(["HOME": "/h", "XDG_DATA_HOME": "/d"]).dataDirectory == "/d/starling")
        }

        @Test func aSocketPathThatIsTooLongSaysSo() throws {
            let error = #expect(throws: NodeError.self) {
                try NodeHome(directory: "/tmp/" + String(repeating: "x", count: 120)) { _ in nil }
            }
            #expect(error?.description.contains("107") == true)
        }

        /// A damaged database is set aside whole, with its log, and comes back from the peers; the identity stays.
        @Test func aDamagedDatabaseIsSetAsideAndRebuilt() async throws {
            let home = try TestHome()
            let peer = try await TestNode("bert")
            let first = try await TestNode("anna", home: home, peers: [peer])
            try first.client().send(message: "precious")
            try peer.client().waitForMessage("precious")
            let uid = first.uid
            await first.stop()
            let database = home.file("workspace.db")
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: database))
            try handle.write(contentsOf: Data(repeating: 0x5A, count: 8192))
            try handle.close()
            try Data(repeating: 0x77, count: 5000).write(to: URL(fileURLWithPath: database + "-wal"))

            let again = try await TestNode("anna", home: home, peers: [peer])
            #expect(again.uid == uid)
            try again.client().waitForMessage("precious")
            #expect(again.logLines("set aside").count == 1)
            let aside = try home.files.filter { $0.hasPrefix("workspace.db.corrupt-") }
            #expect(!aside.isEmpty, "\(aside)")
        }

        /// Damage that is met in use: the database is replaced while the node goes on. The name its user chose comes
        /// back.
        @Test func aDatabaseThatIsDamagedInUseIsReplaced() async throws {
            let peer = try await TestNode("bert")
            let node = try await TestNode("anna", peers: [peer])
            let client = try node.client()
            try client.call("profile.set", ["name": "Annabel"])
            let mute: JSON = ["person": .string(UID.text(peer.uid))]
            #expect(try client.call("people.mute", mute)["muted"] == true)
            let text = String(repeating: "x", count: 800_000)
            for number in 0..<12 { try client.set("free/\(number)", .string(text)) }
            // What is written over and over is counted, and does not come back.
            for number in 0..<100 { try client.set("often", .int(Int64(number))) }
            try client.send(message: "precious")
            try client.waitUntilEqual(peers: 1)
            try await eventually("known to be there", within: .seconds(60)) { await node.node.lacks(peer.uid) == 0 }
            try await damage(node)

            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            while node.logLines("set aside").isEmpty, deadline.leftMs > 0 {
                for number in 0..<12 { _ = try? client.value("free/\(number)") }
            }
            #expect(node.logLines("set aside").count == 1)
            try node.client().waitUntilEqual(peers: 1)
            #expect(try client.texts() == ["precious"])
            #expect(try client.value("free/7").string?.utf8.count == 800_000)
            #expect(try client.call("identity.show")["name"]?.string == "Annabel")
            // Nobody holds what has not been written yet.
            #expect(await node.node.lacks(peer.uid) >= 0)
            await node.stop()
            let again = try await TestNode("Annabel", home: node.home)
            let marked = try again.client().call("people.list")["people"]?.array?.filter { $0["muted"] == true }
            #expect(marked?.map { $0["uid"]?.string } == [UID.text(peer.uid)])
        }

        /// Overwrites the database with nonsense, but for its first page.
        private func damage(_ node: TestNode) async throws {
            // Otherwise all of it is in the log still.
            try await node.node.writeBack()
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: node.home.file("workspace.db")))
            let size = try handle.seekToEnd()
            try handle.seek(toOffset: 4096)
            try handle.write(contentsOf: Data(repeating: 0x5A, count: Int(size) - 4096))
            try handle.close()
        }

        /// Where no new database can be made, as on a full disk, it is tried again, and not only after a restart.
        @Test func aDatabaseThatCannotBeReplacedYetIsReplacedLater() async throws {
            let peer = try await TestNode("bert")
            let node = try await TestNode("anna", peers: [peer])
            let client = try node.client()
            let text = String(repeating: "x", count: 800_000)
            for number in 0..<12 { try client.set("free/\(number)", .string(text)) }
            try client.send(message: "precious")
            try client.waitUntilEqual(peers: 1)
            await node.node.setReplaceMs(200)
            // In the place of a file that a new database needs for a moment, and one in use does not.
            let obstacle = node.home.file("workspace.db-journal")
            try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
            try await damage(node)
            try await eventually("an attempt in vain", within: .seconds(60)) {
                for number in 0..<12 { _ = try? client.value("free/\(number)") }
                return node.logLines("cannot be replaced").count >= 2
            }
            try FileManager.default.removeItem(atPath: obstacle)
            try await eventually("everything back", within: .seconds(60)) {
                (try? client.texts()) == ["precious"] && (try? client.value("free/7").string?.utf8.count) == 800_000
            }
            try node.client().waitUntilEqual(peers: 1)
        }
    }
}

extension Node {
    fileprivate func writeBack() throws { try store.rest() }
    fileprivate func setReplaceMs(_ ms: UInt64) { replaceMs = ms }
    /// Changes that another node is not known to hold.
    fileprivate func lacks(_ other: Bytes32) -> Int64 {
        store.lastChange - replicator.held.mark(of: other)
    }
}
