internal import Foundation
internal import Synchronization

/// Several hosts on one machine, each with its own network, D-Bus and Avahi, on one switch. See `Scripts/lan`, which
/// does the work and can be used by hand.
///
/// Hosts are counted from 1 and have the addresses 10.99.0.N and fe80::N. The lab goes when the last reference to it
/// goes; one whose test process crashed is removed by the next lab that starts.
public final class Lab: Sendable {
    /// What can be done to a host's Avahi or D-Bus.
    public enum Action: String, Sendable {
        /// Hang it (SIGSTOP).
        case stop
        /// Let it go on.
        case cont
        /// Kill it; it stays dead.
        case kill
        /// Start it again.
        case start
    }

    /// Nil when labs work on this machine, otherwise what is missing. Guard tests with
    /// `.enabled(if: Lab.unavailableReason == nil)`.
    public static let unavailableReason: String? = findUnavailableReason()

    /// The hosts, the first of them number 1.
    public let hosts: [LabHost]

    private let prefix: String
    private static let count = Mutex(0)

    /// Starts hosts 1 to `hosts`; returns when their Avahis answer, after about a second.
    ///
    /// - Parameter withoutAvahi: hosts that begin with neither D-Bus nor Avahi, as on a machine that lacks them.
    public init(hosts: Int, withoutAvahi: Set<Int> = []) throws {
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        let prefix = "t\(getpid())x\(number)"
        self.prefix = prefix
        self.hosts = (1...max(hosts, 1)).map { LabHost(number: $0, prefix: prefix) }
        let without = withoutAvahi.isEmpty ? [] : ["without"] + withoutAvahi.sorted().map(String.init)
        try Self.lan(prefix, ["up", "\(hosts)"] + without)
    }

    deinit {
        down()
    }

    /// Host `number`, counted from 1.
    public subscript(number: Int) -> LabHost {
        hosts[number - 1]
    }

    /// Ends every process of the lab and removes it.
    public func down() {
        try? Self.lan(prefix, ["down"])
    }

    /// Pulls host `host`'s cable.
    public func cut(_ host: Int) throws {
        try Self.lan(prefix, ["cut", "\(host)"])
    }

    /// Plugs host `host`'s cable in again.
    public func heal(_ host: Int) throws {
        try Self.lan(prefix, ["heal", "\(host)"])
    }

    /// Gives host `host` a second network interface, `eth1` at 10.98.0.N and fe80::N, on a switch of its own.
    public func wire(_ host: Int) throws {
        try Self.lan(prefix, ["wire", "\(host)"])
    }

    /// Lets nothing pass between two hosts, multicast included; both still reach the others.
    public func isolate(_ host: Int, _ other: Int) throws {
        try Self.lan(prefix, ["isolate", "\(host)", "\(other)"])
    }

    /// Ends `isolate` for these two.
    public func join(_ host: Int, _ other: Int) throws {
        try Self.lan(prefix, ["join", "\(host)", "\(other)"])
    }

    /// Lets no multicast DNS into a host; its own still gets out.
    public func mute(_ host: Int) throws {
        try Self.lan(prefix, ["mute", "\(host)"])
    }

    /// Ends `mute`.
    public func unmute(_ host: Int) throws {
        try Self.lan(prefix, ["unmute", "\(host)"])
    }

    /// The switch passes on no multicast DNS to anybody.
    public func filterMulticast() throws {
        try Self.lan(prefix, ["filter"])
    }

    /// Ends `filterMulticast`.
    public func passMulticast() throws {
        try Self.lan(prefix, ["unfilter"])
    }

    /// Drops this share (0 to 100) of the packets into a host at random.
    public func loss(_ host: Int, percent: Int) throws {
        try Self.lan(prefix, ["loss", "\(host)", "\(percent)"])
    }

    /// Hangs, resumes, kills or starts a host's Avahi. `.start` also starts D-Bus where there is none.
    public func avahi(_ host: Int, _ action: Action) throws {
        try Self.lan(prefix, ["avahi", "\(host)", action.rawValue])
    }

    /// Hangs, resumes, kills or starts a host's D-Bus.
    public func dbus(_ host: Int, _ action: Action) throws {
        try Self.lan(prefix, ["dbus", "\(host)", action.rawValue])
    }

    /// The path of an executable product of this package, which is built beside the running tests.
    public static func product(_ name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw LabError("\(path) is not built")
        }
        return path
    }

    /// Compiles what makes a program see another time of day; to be named in `LD_PRELOAD`, with `SKEW_S` as the seconds
    /// that its clock is ahead.
    ///
    /// - `path`: where the library is put.
    public static func makeSkewLibrary(at path: String) throws {
        let source = Bundle.module.bundleURL.appendingPathComponent("Scripts/skew.c").path
        let process = try LabProcess(["clang", "-shared", "-fPIC", "-O1", "-o", path, source])
        process.closeInput()
        let status = try process.waitBlocking(timeout: .seconds(300))
        guard status == 0 else {
            throw LabError("clang: status \(status) \(process.errors.text)")
        }
    }

    static var script: String {
        Bundle.module.bundleURL.appendingPathComponent("Scripts/lan").path
    }

    private static func lan(_ prefix: String, _ arguments: [String]) throws {
        let process = try LabProcess(
            ["bash", script] + arguments,
            environment: ["LAN_PREFIX": prefix, "LAN_OWNER": "\(getpid())"])
        process.closeInput()
        let status = try process.waitBlocking(timeout: .seconds(60))
        guard status == 0 else {
            throw LabError("lan \(arguments.joined(separator: " ")): status \(status) \(process.errors.text)")
        }
    }

    private static func findUnavailableReason() -> String? {
        guard geteuid() == 0 else {
            return "a lab needs root"
        }
        let tools = ["ip", "nft", "nsenter", "unshare", "dbus-daemon", "avahi-daemon"]
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = "\(path):/usr/sbin:/sbin".split(separator: ":")
        for tool in tools
        where !folders.contains(where: { FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)") }) {
            return "\(tool) is not installed"
        }
        let name = "t\(getpid())probe"
        do {
            let probe = try LabProcess(["sh", "-c", "ip netns add \(name) && ip netns del \(name)"])
            probe.closeInput()
            guard try probe.waitBlocking(timeout: .seconds(10)) == 0 else {
                return "network namespaces do not work here: \(probe.errors.text)"
            }
        } catch {
            return "network namespaces do not work here: \(error)"
        }
        return nil
    }
}
