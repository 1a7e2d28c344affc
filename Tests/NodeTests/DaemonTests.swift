import ControlAPI
import Foundation
import Glibc
import Lab
import Node
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// The daemon as a process: what only a process can show.
    @Suite struct DaemonTests {
        /// A daemon in a home, without discovery, that has said `ready`.
        private struct Daemon {
            let home: TestHome
            let process: LabProcess
            let port: UInt16

            init(_ home: TestHome, peer: UInt16? = nil) async throws {
                self.home = home
                // The program stands beside the test runner.
                let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                    .deletingLastPathComponent()
                    .appendingPathComponent("starlingd").path
                let options = ["--home", home.path, "--name", "anna", "--listen", "127.0.0.1:0", "--no-discovery"]
                process = try LabProcess(
                    [program] + options + (peer.map { ["--peer", "127.0.0.1:\($0)"] } ?? []),
                    environment: ["SWIFT_BACKTRACE": "enable=no"])
                guard try await process.nextLine(timeout: .seconds(60)) == "ready" else {
                    throw TestFailure("not ready: \(process.errors.text)")
                }
                let line = try await process.errors.nextLine(timeout: .seconds(60)) {
                    $0.contains("listening for peers")
                }
                guard let port = line.split(separator: " ").last.flatMap({ UInt16($0) }) else {
                    throw TestFailure(line)
                }
                self.port = port
            }

            func client() throws -> LineClient { try LineClient(home.socketPath) }

            /// Resident memory in KiB.
            var residentKiB: Int {
                let text = (try? String(contentsOfFile: "/proc/\(process.id)/statm", encoding: .utf8)) ?? ""
                let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                return pages * Int(getpagesize()) / 1024
            }

            func kill() async throws {
                process.kill(SIGKILL)
                try await process.wait()
            }
        }

        /// kill -9 in the middle of a thousand sends, again and again: every key that was answered is there, once.
        @Test func nothingAnsweredIsLost() async throws {
            let home = try TestHome()
            var answered: Set<String> = []
            var random = SystemRandomNumberGenerator()
            for round in 0..<10 {
                let daemon = try await Daemon(home)
                let client = try daemon.client()
                let stored = try client.messages().compactMap { $0["key"]?.string }
                #expect(Set(stored).count == stored.count)
                #expect(answered.isSubset(of: stored), "round \(round)")
                var lines: [UInt8] = []
                for number in 0..<1000 {
                    let params: JSON = ["to": "#general", "text": .string("\(round) \(number)")]
                    lines += RPCRequest(id: .int(Int64(number)), method: "message.send", params: params).line
                }
                try client.send(lines)
                for _ in 0..<Int.random(in: 1...150, using: &random) {
                    answered.insert(try #require(try client.answer()["result"]?["key"]?.string))
                }
                daemon.process.kill(SIGKILL)
                while let line = try? client.line() {
                    if let key = line["result"]?["key"]?.string { answered.insert(key) }
                }
                try await daemon.process.wait()
            }
            let daemon = try await Daemon(home)
            let rows = try daemon.client().messages()
            let keys = rows.compactMap { $0["key"]?.string }
            #expect(answered.isSubset(of: keys) && Set(keys).count == keys.count)
            #expect(Set(rows.compactMap { $0["text"]?.string }).count == rows.count)
            // And on another node.
            let joined = try await Daemon(try TestHome(), peer: daemon.port)
            try joined.client().waitUntilEqual(peers: 1)
            #expect(try joined.client().messages().compactMap { $0["key"]?.string } == keys)
        }

        @Test func itEndsOnTerm() async throws {
            let daemon = try await Daemon(try TestHome())
            let client = try daemon.client()
            let start = Deadline.nowNs
            daemon.process.terminate()
            #expect(try await daemon.process.wait() == 0)
            #expect(Deadline.nowNs - start < Pace.ns(2000))
            #expect(try client.line() == nil)
            #expect(try !daemon.home.files.contains("starling.sock"))
        }

        @Test func aClientCanStopIt() async throws {
            let daemon = try await Daemon(try TestHome())
            let client = try daemon.client()
            #expect(try client.call("node.stop") == [:])
            #expect(try await daemon.process.wait() == 0)
        }

        @Test func aSecondDaemonSaysWhoIsThere() async throws {
            let daemon = try await Daemon(try TestHome())
            let second = try LabProcess(
                [
                    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                        .appendingPathComponent("starlingd").path, "--home", daemon.home.path, "--no-discovery",
                ])
            #expect(try await second.wait(timeout: .seconds(60)) == 1)
            let line = try await second.errors.nextLine { $0.contains("already runs") }
            #expect(line.contains("process \(daemon.process.id)"))
            #expect(try daemon.client().call("node.status")["name"]?.string == "anna")
        }

        /// Memory stays flat whatever strangers send to either door.
        @Test func memoryStaysFlat() async throws {
            let daemon = try await Daemon(try TestHome())
            let client = try daemon.client()
            func visit() throws {
                for (_, bytes) in PeerPortTests.greetings {
                    let stranger = try RawTCP(port: daemon.port)
                    stranger.trySend(bytes)
                    while try stranger.receive() != nil {}
                }
                let noisy = try daemon.client()
                try noisy.send("[" + String(repeating: " ", count: 5 << 20))
                noisy.endSending()
                while try noisy.line() != nil {}
            }
            try visit()
            _ = try client.call("node.status")
            let before = daemon.residentKiB
            for _ in 0..<5 { try visit() }
            _ = try client.call("node.status")
            let after = daemon.residentKiB
            // A leak would be five times five mebibytes; one such line may still lie in the allocator.
            #expect(after < before + 12 * 1024, "\(before) KiB before, \(after) KiB after")
            #expect(daemon.process.isRunning)
        }

        /// Its log goes nowhere any more: it goes on.
        @Test func aClosedLogIsNoReasonToEnd() async throws {
            let home = try TestHome()
            let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appendingPathComponent("starlingd").path
            let shell =
                "exec \(program) --home \(home.path) --no-discovery --listen 127.0.0.1:0 2> >(head -n 1 >/dev/null)"
            let process = try LabProcess(["bash", "-c", shell])
            #expect(try await process.nextLine(timeout: .seconds(60)) == "ready")
            for _ in 0..<5 {
                let client = try LineClient(home.socketPath)
                try client.send("[" + String(repeating: " ", count: 5 << 20))
                client.endSending()
                while try client.line() != nil {}
            }
            #expect(process.isRunning)
            process.terminate()
            #expect(try await process.wait() == 0)
        }
    }
}
