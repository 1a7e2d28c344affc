import Foundation
import Glibc
import Testing

@testable import Net

struct NetworkInterfaceTests {
    @Test func loopbackIsListed() throws {
        let all = try NetworkInterface.all()
        let loopback = try #require(all.first { $0.isLoopback })
        #expect(loopback.index > 0)
        #expect(!loopback.isContainerBridge)
        if loopback.isUp {
            let address = try #require(SocketAddress("127.9.9.9:1"))
            #expect(loopback.addresses.contains { $0.address.isLoopback && $0.prefixLength == 8 })
            #expect(all.isOnLink(address))
        }
        #expect(Set(all.map(\.index)).count == all.count)
    }

    @Test(arguments: [
        ("docker0", true), ("br-0123456789ab", true), ("vethabc", true), ("virbr0", true), ("cni0", true),
        ("eth0", false), ("br0", false), ("wlan0", false), ("enp3s0", false), ("tailscale0", false), ("", false),
    ])
    func containerBridgesAreKnownByName(name: String, expected: Bool) {
        let interface = NetworkInterface(name: name, index: 1, flags: 0, addresses: [])
        #expect(interface.isContainerBridge == expected)
    }

    @Test func onLinkNeedsTheNetworkTheScopeAndACarrier() throws {
        let four = try #require(SocketAddress(ip: "192.168.7.9", port: 0))
        let six = try #require(SocketAddress(ip: "fe80::9%5", port: 0))
        let up = UInt32(IFF_UP | IFF_RUNNING)
        let addresses: [NetworkInterface.Address] = [
            .init(address: four, prefixLength: 24), .init(address: six, prefixLength: 64),
        ]
        let live = [NetworkInterface(name: "eth0", index: 5, flags: up, addresses: addresses)]
        let dead = [NetworkInterface(name: "eth0", index: 5, flags: UInt32(IFF_UP), addresses: addresses)]
        let near = try #require(SocketAddress("192.168.7.200:1"))
        let far = try #require(SocketAddress("192.168.8.200:1"))
        #expect(live.isOnLink(near))
        #expect(!live.isOnLink(far))
        #expect(!dead.isOnLink(near))
        let scoped = try #require(SocketAddress("[fe80::77%5]:1"))
        let elsewhere = try #require(SocketAddress("[fe80::77%6]:1"))
        let unscoped = try #require(SocketAddress("[fe80::77]:1"))
        #expect(live.isOnLink(scoped))
        #expect(!live.isOnLink(elsewhere))
        #expect(!live.isOnLink(unscoped))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct NetworkMonitorTests {
    /// Puts the calling thread into a network namespace of its own (unshare(2)); 0 when that is allowed.
    private static func enterOwnNamespace() -> Int32 {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = unsafe dlsym(nil, "unshare") else { return -1 }
        return unsafe unsafeBitCast(symbol, to: Unshare.self)(0x4000_0000)
    }

    private static func canEnterOwnNamespace() async -> Bool {
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip")
    }

    /// Runs ip(8) in the calling thread's namespace.
    private static func ip(_ arguments: String...) throws {
        let words = ["ip"] + arguments
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        defer { unsafe pointers.forEach { unsafe free($0) } }
        unsafe pointers.append(nil)
        var pid = pid_t()
        guard unsafe posix_spawn(&pid, "/usr/sbin/ip", nil, nil, pointers, nil) == 0 else {
            throw NetError.current("posix_spawn")
        }
        var status: Int32 = 0
        _ = unsafe waitpid(pid, &status, 0)
        #expect(status == 0, "ip \(arguments)")
    }

    @Test(.enabled("needs root for a network namespace of its own", canEnterOwnNamespace))
    func changesAreReportedOnceABurst() async throws {
        try await withLoop { loop in
            let (first, second) = (Promise<[NetworkInterface]>(), Promise<[NetworkInterface]>())
            let changes = Recorder<NetworkMonitor.Change>()
            let monitor = try await loop.run {
                guard Self.enterOwnNamespace() == 0 else { throw NetError.current("unshare") }
                return try NetworkMonitor(on: loop, debounceMs: 100) { change in
                    changes.append(change)
                    guard case .interfaces(let interfaces) = change else { return }
                    (changes.all.count == 1 ? first : second).fulfil(interfaces)
                }
            }
            try await loop.run {
                #expect(monitor.interfaces.allSatisfy { !$0.isUp })
                try Self.ip("link", "set", "lo", "up")
                try Self.ip("address", "add", "10.99.0.1/24", "dev", "lo")
            }
            let near = try #require(SocketAddress("10.99.0.7:1"))
            #expect(await first.value.isOnLink(near))
            try await loop.run {
                #expect(monitor.interfaces.isOnLink(near))
                try Self.ip("address", "del", "10.99.0.1/24", "dev", "lo")
            }
            #expect(await !second.value.isOnLink(near))
            #expect(changes.all.count == 2)
            try await loop.run { monitor.stop() }
        }
    }

    @Test(.enabled("needs root for a network namespace of its own", canEnterOwnNamespace))
    func whatChangesBackIsNoChange() async throws {
        try await withLoop { loop in
            let changes = Recorder<NetworkMonitor.Change>()
            let later = Promise<Bool>()
            _ = try await loop.run {
                guard Self.enterOwnNamespace() == 0 else { throw NetError.current("unshare") }
                let monitor = try NetworkMonitor(on: loop, debounceMs: 50) { changes.append($0) }
                try Self.ip("address", "add", "10.99.0.1/24", "dev", "lo")
                try Self.ip("address", "del", "10.99.0.1/24", "dev", "lo")
                loop.schedule(afterMs: 100) { later.fulfil(true) }
                return monitor
            }
            _ = await later.value
            #expect(changes.all.isEmpty)
        }
    }

    @Test func monitorStartsAndStopsForAnybody() async throws {
        try await withLoop { loop in
            try await loop.run {
                let monitor = try NetworkMonitor(on: loop) { _ in }
                #expect(!monitor.interfaces.isEmpty)
                monitor.stop()
                monitor.stop()
            }
        }
    }

    @Test func aBootTimerFiresAsSetLastAndNotAfterItsEnd() async throws {
        try await withLoop { loop in
            let (fired, other) = (Promise<UInt64>(), Promise<Bool>())
            let counted = Recorder<UInt64>()
            let begin = EventLoop.monotonicMs()
            let timer = try await loop.run {
                let timer = try BootTimer(on: loop) {
                    counted.append(EventLoop.monotonicMs())
                    fired.fulfil(EventLoop.monotonicMs())
                }
                timer.set(afterMs: 3_600_000)
                timer.set(afterMs: 20)
                return timer
            }
            #expect(await fired.value >= begin + 20)
            let second = try await loop.run {
                timer.set(afterMs: 1)
                timer.cancel()
                timer.set(afterMs: 1)
                let second = try BootTimer(on: loop) { other.fulfil(true) }
                second.set(afterMs: 20)
                return second
            }
            #expect(await other.value)
            #expect(counted.all.count == 1)
            try await loop.run { second.cancel() }
        }
    }

    @Test func suspendIsAJumpOfTheOneClockAgainstTheOther() {
        var detector = SuspendDetector()
        #expect(detector.step(bootMs: 1_000_000, monotonicMs: 400_000) == nil)
        #expect(detector.step(bootMs: 1_005_000, monotonicMs: 405_000) == nil)
        // A process that was merely stopped sees both go on.
        #expect(detector.step(bootMs: 1_105_000, monotonicMs: 505_000) == nil)
        #expect(detector.step(bootMs: 1_130_000, monotonicMs: 510_000) == nil)
        #expect(detector.step(bootMs: 1_155_001, monotonicMs: 515_000) == 20_001)
        #expect(detector.step(bootMs: 1_160_001, monotonicMs: 520_000) == nil)
        // Nonsense is not reported.
        #expect(detector.step(bootMs: 0, monotonicMs: .max) == nil)
        #expect(detector.step(bootMs: 0, monotonicMs: .max) == nil)
    }
}
