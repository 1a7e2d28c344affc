import ControlAPI
import Foundation
import Glibc
import Node
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
    }
}
