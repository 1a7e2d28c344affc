internal import CPosix
internal import ControlAPI
internal import ControlClient
internal import Glibc

/// Looks at everything, within seconds, whatever hangs.
struct Examination {
    private static let daemonMs = 2_500
    private static let busMs = 1_000
    private static let multicastMs = 1_200
    private static let connectMs = 2_000
    /// Addresses that are tried: with many nodes, those that are not linked to are no sign of anything.
    private static let triedMax = 32

    /// Characters that are shown of a line of the log.
    private static let lastErrorMax = 500

    let places: SocketPlaces
    private var evidence = Evidence()

    init(_ places: SocketPlaces) {
        self.places = places
    }

    /// The daemon first, for what it is doing is not to be disturbed; then past it.
    mutating func carryOut() -> Evidence {
        evidence.version = StarlingVersion.current
        evidence.command = places.command
        evidence.hasDaemonProgram = DaemonProgram.find() != nil
        askDaemon()
        let bus = SystemBus.path(Self.variable("DBUS_SYSTEM_BUS_ADDRESS"))
        (evidence.bus, evidence.avahi) = SystemBus.ask(path: bus, timeoutMs: Self.busMs)
        evidence.hasAvahiProgram = ["/usr/sbin", "/usr/bin", "/sbin"].contains {
            unsafe access($0 + "/avahi-daemon", X_OK) == 0
        }
        lookAtNetwork()
        lookAtFiles()
        evidence.isClockSynchronised = starling_clock_is_synchronised() == 1
        return evidence
    }

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    private mutating func askDaemon() {
        do {
            let client = try ControlClient.connect(places, timeoutMs: Self.daemonMs)
            let socket = places.sockets.first { FileFacts($0)?.kind == .socket } ?? ""
            evidence.daemon = .answers(version: client.hello.version, socket: socket)
            evidence.uid = client.hello.uid
            evidence.diagnosis = try DiagnosisRow(json: client.call("node.diagnose", timeoutMs: Self.daemonMs))
            let workspace = try? WorkspaceRow(json: client.call("workspace.show", timeoutMs: Self.daemonMs))
            evidence.isPrivate = workspace?.isPrivate ?? false
        } catch ClientError.noDaemon(let tried, _) {
            evidence.daemon = .absent(tried: tried)
            evidence.lastError = Self.lastError(places.log)
        } catch ClientError.refused(let error) where error.reason == .methodNotFound {
            // An older daemon; what it lacks is skipped.
            return
        } catch ClientError.refused(let error) {
            evidence.refusal = error.message
        } catch {
            evidence.daemon = .broken("\(error)")
            evidence.holder = Self.holder("\(dataFolder)/lock")
        }
    }

    /// The process that has locked a file and written its number there, as a daemon does with its home.
    static func holder(_ path: String) -> Int32? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard starling_lock_is_held(descriptor) == 1, let bytes = SmallFile.bytes(path, max: 16) else { return nil }
        let digits = String(decoding: bytes, as: UTF8.self).prefix { $0.isASCII && $0.isNumber }
        return Int32(digits).flatMap { $0 > 1 ? $0 : nil }
    }

    private mutating func lookAtNetwork() {
        evidence.interfaces = LocalInterface.all()
        evidence.router = Reach.gateway(SmallFile.text("/proc/net/route"))
        evidence.router.map(Reach.nudge)
        evidence.multicast = MulticastQuery.ask(evidence.interfaces, durationMs: Self.multicastMs)
        let own = Set(evidence.interfaces.flatMap(\.addresses).map(\.address))
        var endpoints = evidence.unlinked.sorted { $0.key < $1.key }.flatMap { $0.value.endpoints }
        endpoints += evidence.failed.compactMap { Endpoint($0.address) }
        if evidence.diagnosis == nil {
            endpoints += evidence.multicast.answers.filter { !own.contains($0.from) }.flatMap(\.endpoints)
        }
        evidence.reached = Reach.connect(Array(endpoints.prefix(Self.triedMax)), timeoutMs: Self.connectMs)
        for endpoint in endpoints + evidence.connected.compactMap({ Endpoint($0.address) }) {
            guard evidence.routes[endpoint.address] == nil, let source = Reach.source(to: endpoint.address) else {
                continue
            }
            let interface = evidence.interfaces.first { $0.addresses.contains { $0.address.bytes == source.bytes } }
            evidence.routes[endpoint.address] = interface?.name
        }
        // After the tries: they have asked for the neighbours.
        evidence.neighbours = Reach.neighbours(SmallFile.text("/proc/net/arp"))
    }

    private mutating func lookAtFiles() {
        let home = evidence.diagnosis?.home ?? dataFolder
        evidence.home = home
        evidence.user = geteuid()
        let names = SmallFile.names(in: home)
        evidence.files = Self.files(home: home, names, places, user: evidence.user)
        evidence.setAside = names.filter { $0.hasPrefix("workspace.db.corrupt-") && !Self.isLog($0) }
            .map { "\(home)/\($0)" }
        evidence.disk = DiskFacts(home) ?? DiskFacts(Self.variable("HOME") ?? "/")
        guard let head = SmallFile.bytes("\(home)/workspace.db", max: 16) else { return }
        evidence.databaseFile =
            head.isEmpty || head == Array("SQLite format 3".utf8) + [0] ? .begins : .foreign
    }

    /// Of the daemon's files and folders those that exist.
    static func files(home: String, _ names: [String], _ places: SocketPlaces, user: UInt32) -> [FileFacts] {
        var folders = [home]
        var paths: [String] = []
        for socket in places.sockets where FileFacts(socket) != nil {
            if let slash = socket.lastIndex(of: "/") { folders.append(String(socket[..<slash])) }
            paths.append(socket)
        }
        for name in names where Self.isOwn(name) { paths.append("\(home)/\(name)") }
        paths.append(places.log)
        var seen: Set<String> = []
        return folders.filter { seen.insert($0).inserted }.compactMap { FileFacts.folder($0, user: user) }
            + paths.filter { seen.insert($0).inserted }.compactMap { FileFacts($0) }
    }

    /// Keys and databases, also those of workspaces and identities that were left. In a folder that `--home` names
    /// there may be anything else.
    private static func isOwn(_ name: String) -> Bool {
        let beginnings = ["identity", "workspace.", "starlingd.log"]
        if name == "lock" || beginnings.contains(where: name.hasPrefix) { return true }
        let parts = name.split(separator: "-", maxSplits: 1)
        return parts.count == 2 && parts[0] == "workspace" && parts[1].prefix { $0.isHexDigit }.count == 16
    }

    /// The last line of a daemon's log if it says why the daemon could not go on.
    static func lastError(_ log: String) -> String? {
        guard let line = try? LogTail.lines(log, 1).first else { return nil }
        // The daemon's own, or what its command line was answered.
        let isError = line.split(separator: " ", maxSplits: 2).dropFirst().first == "error"
        return isError || line.hasPrefix("starlingd: ") ? String(line.prefix(lastErrorMax)) : nil
    }

    private static func isLog(_ name: String) -> Bool { name.hasSuffix("-wal") || name.hasSuffix("-shm") }

    /// As the daemon finds it (`NodeHome`).
    private var dataFolder: String {
        if let home = places.home { return home }
        let user = Self.variable("HOME") ?? ""
        return (Self.variable("XDG_DATA_HOME") ?? user + "/.local/share") + "/starling"
    }
}
