import Foundation
import Glibc
import Testing

@testable import Net

@Suite(.timeLimit(.minutes(1)))
struct StreamListenerTests {
    @Test func acceptsWhatItsPortIsDialledAt() async throws {
        try await withLoop { loop in
            let accepted = Promise<StreamSocket>()
            let listener = try await loop.run {
                try StreamListener.tcp(.loopback(port: 0), on: loop) { accepted.fulfil($0) }
            }
            #expect(listener.port != 0)
            let raw = RawSocket.connected(to: .loopback(port: listener.port))
            #expect(raw != nil)
            #expect(await accepted.value.peerAddress?.isLoopback == true)
            try await loop.run { listener.close() }
            // A test that spawns a process hands it every descriptor until it execs, so the port may listen a moment
            // longer.
            var isRefused = false
            for _ in 0..<100 where !isRefused {
                isRefused = RawSocket.connected(to: .loopback(port: listener.port)) == nil
                let later = Promise<Bool>()
                loop.schedule(afterMs: isRefused ? 0 : 10) { later.fulfil(true) }
                _ = await later.value
            }
            #expect(isRefused)
        }
    }

    @Test func dualStackListenerSeesIPv4Addresses() async throws {
        try await withLoop { loop in
            let accepted = Promise<StreamSocket>()
            let listener = try await loop.run {
                try StreamListener.tcp(port: 0, on: loop) { accepted.fulfil($0) }
            }
            let raw = RawSocket.connected(to: .loopback(port: listener.port))
            #expect(raw != nil)
            let peer = await accepted.value.peerAddress
            #expect(peer?.isIPv4 == true)
            #expect(peer?.isLoopback == true)
        }
    }

    @Test func secondListenerOnAPortIsRefused() async throws {
        try await withLoop { loop in
            try await loop.run {
                let first = try StreamListener.tcp(.loopback(port: 0), on: loop) { _ in }
                let error = #expect(throws: NetError.self) {
                    _ = try StreamListener.tcp(.loopback(port: first.port), on: loop) { _ in }
                }
                #expect(error?.code == .addressInUse)
                #expect(error?.description == "the address is already in use")
            }
        }
    }

    @Test func addressOfAnotherHostCannotBeListenedOn() async throws {
        try await withLoop { loop in
            let address = try #require(SocketAddress("192.0.2.1:0"))
            try await loop.run {
                let error = #expect(throws: NetError.self) {
                    _ = try StreamListener.tcp(address, on: loop) { _ in }
                }
                #expect(error?.code == .addressNotAvailable)
            }
        }
    }

    // MARK: Unix sockets

    @Test(arguments: [UInt32](arrayLiteral: 0o600, 0o660))
    func unixSocketHasItsModeAndGoesWithItsListener(mode: UInt32) async throws {
        try await withDirectory { directory in
            try await withLoop { loop in
                let path = directory + "/socket"
                let accepted = Promise<StreamSocket>()
                let listener = try await loop.run {
                    try StreamListener.unix(path: path, mode: mode, on: loop) { accepted.fulfil($0) }
                }
                var status = stat()
                #expect(unsafe lstat(path, &status) == 0)
                #expect(status.st_mode & 0o7777 == mode)
                let raw = RawSocket.connected(toPath: path)
                #expect(raw != nil)
                let socket = await accepted.value
                try await loop.run {
                    #expect(socket.peerCredentials?.pid == getpid())
                    listener.close()
                }
                #expect(unsafe lstat(path, &status) != 0)
            }
        }
    }

    /// The mask that new files get their rights by belongs to the whole process.
    @Test func manyAtOnceHaveTheirModes() async throws {
        try await withDirectory { directory in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        try await withLoop { loop in
                            for round in 0..<50 {
                                let path = "\(directory)/\(number)-\(round)"
                                let listener = try await loop.run {
                                    try StreamListener.unix(path: path, mode: 0o600, on: loop) { _ in }
                                }
                                var status = stat()
                                #expect(unsafe lstat(path, &status) == 0)
                                #expect(status.st_mode & 0o7777 == 0o600)
                                try await loop.run { listener.close() }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func staleSocketIsReplacedAndItsFormerOwnerLeavesTheNewOneAlone() async throws {
        try await withDirectory { directory in
            try await withLoop { loop in
                let path = directory + "/socket"
                try await loop.run {
                    let first = try StreamListener.unix(path: path, on: loop) { _ in }
                    let second = try StreamListener.unix(path: path, on: loop) { _ in }
                    first.close()
                    var status = stat()
                    #expect(unsafe lstat(path, &status) == 0)
                    second.close()
                    #expect(unsafe lstat(path, &status) != 0)
                }
            }
        }
    }

    @Test(arguments: ["file", "directory", "symlink"])
    func whatIsNoSocketIsNeverReplaced(kind: String) async throws {
        try await withDirectory { directory in
            let path = directory + "/socket"
            switch kind {
            case "file": #expect(FileManager.default.createFile(atPath: path, contents: Data("precious".utf8)))
            case "directory": #expect(unsafe mkdir(path, 0o700) == 0)
            default: #expect(unsafe symlink("/dev/null", path) == 0)
            }
            try await withLoop { loop in
                try await loop.run {
                    let error = #expect(throws: NetError.self) {
                        _ = try StreamListener.unix(path: path, on: loop) { _ in }
                    }
                    #expect(error?.code == .foreignFile)
                }
            }
            var status = stat()
            #expect(unsafe lstat(path, &status) == 0)
        }
    }

    @Test(arguments: ["", "/tmp/" + String(repeating: "x", count: 103), "/tmp/a\0b"])
    func pathThatFitsNoSocketIsRefused(path: String) async throws {
        try await withLoop { loop in
            try await loop.run {
                let error = #expect(throws: NetError.self) {
                    _ = try StreamListener.unix(path: path, on: loop) { _ in }
                }
                #expect(error?.code == .badPath)
            }
        }
    }

    @Test func longestPathIsAccepted() async throws {
        try await withDirectory { directory in
            let path = directory + "/" + String(repeating: "x", count: 106 - directory.utf8.count)
            #expect(path.utf8.count == 107)
            try await withLoop { loop in
                try await loop.run { _ = try StreamListener.unix(path: path, on: loop) { _ in } }
                #expect(RawSocket.connected(toPath: path) != nil)
            }
        }
    }

    // MARK: Running out of descriptors

    /// In a process of its own, because the limit is the process's.
    @Test func survivesRunningOutOfDescriptors() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let loop = try EventLoop(name: "full")
            let accepted = Promise<Bool>()
            let listener = try await loop.run {
                try StreamListener.tcp(.loopback(port: 0), on: loop) { _ in accepted.fulfil(true) }
            }
            let address = try #require(listener.address)
            let turnedAway = RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
            var fillers: [Int32] = []
            while case let filler = unsafe open("/dev/null", O_RDONLY), filler >= 0 { fillers.append(filler) }

            let result = unsafe address.withSockaddr { unsafe connect(turnedAway.descriptor, $0, $1) }
            #expect(result == 0)
            #expect(turnedAway.readToEnd() == [])
            let before = threadTimeNs(try await loop.run { pthread_self() })
            let later = Promise<Bool>()
            loop.schedule(afterMs: 50) { later.fulfil(true) }
            _ = await later.value
            let spent = threadTimeNs(try await loop.run { pthread_self() }) - before
            #expect(spent < 10_000_000, "spent \(spent) ns in 50 ms")

            for filler in fillers { close(filler) }
            #expect(RawSocket.connected(to: address) != nil)
            #expect(await accepted.value)
            loop.stop()
        }
    }
}
