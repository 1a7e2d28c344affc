import ControlAPI
import Foundation
import Lab
import Testing

/// Starting and stopping the daemon, and where it keeps things.
@Suite(.serialized, .showsLogs)
struct DaemonUseTests {
    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private static let local = ["--", "--no-discovery", "--listen", "127.0.0.1:0"]

    @Test(.timeLimit(.minutes(1))) func startAndStopInTheBackground() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        let failed = try await ann.starling("daemon", "start", "--", "--nonsense")
        #expect(failed.status == 1 && failed.err.contains("unknown option --nonsense"), "\(failed.err)")
        let started = try await ann.spawn("starling", ["daemon", "start", "--json"] + Self.local).finish()
        #expect(try JSON.parse(started.out) == ["version": "0.1.0", "started": true], "\(started.err)")
        let id = try #require(Machine.daemons(of: home).first)
        // It outlives the command in a session of its own and holds nothing of the caller's.
        #expect(getsid(id) == id)
        #expect(try await ann.row("daemon", "start") == ["version": "0.1.0", "started": false])
        #expect(Machine.daemons(of: home) == [id])
        let log = try await ann.starling("daemon", "log", "-n", "1")
        #expect(log.status == 0 && log.out.contains("listening for peers on port"), "\(log.out)")
        #expect(try mode(home) == 0o700)
        for file in ["identity.key", "workspace.db", "starlingd.log", "starling.sock", "lock"] {
            #expect(try mode("\(home)/\(file)") == 0o600, "\(file)")
        }
        #expect(try await ann.row("daemon", "stop") == [:])
        #expect(Machine.daemons(of: home) == [])
        #expect(try await ann.starling("daemon", "stop").status == 3)
        let again = try await ann.spawn("starling", ["daemon", "start", "--json"] + Self.local).finish()
        #expect(again.status == 0)
        #expect(try await ann.row("status")["entries"] == 1)
        kill(try #require(Machine.daemons(of: home).first), SIGTERM)
        try await eventually("it ends within 2 s", within: .seconds(2)) { Machine.daemons(of: home) == [] }
    }

    /// No key gets into a file when it crashes.
    @Test(.timeLimit(.minutes(1))) func itsMemoryIsNotDumped() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let limits = try String(contentsOfFile: "/proc/\(try ann.daemon.id)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(line.split(separator: " ").suffix(3).dropLast() == ["0", "0"], "\(line)")
        try await ann.stop()
    }

    @Test(.timeLimit(.minutes(1))) func oneDaemonForAHome() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let uid = try await ann.row("status")["uid"]
        let second = try await ann.spawn("starlingd", ["--no-discovery"]).finish()
        #expect(second.status == 1 && second.out.isEmpty)
        let id = try ann.daemon.id
        #expect(second.err.contains("already runs") && second.err.contains("\(id)"), "\(second.err)")
        #expect(try await ann.row("status")["uid"] == uid)
        // What a killed one leaves behind is in nobody's way.
        try await ann.crash()
        #expect(FileManager.default.fileExists(atPath: "\(ann.home ?? "")/starling.sock"))
        try await ann.startLocally()
        #expect(try await ann.row("status")["uid"] == uid)
        try await ann.stop()
        #expect(!FileManager.default.fileExists(atPath: "\(ann.home ?? "")/starling.sock"))
    }

    /// Without a home of its own: sockets in the runtime directory, the rest in the data directory.
    @Test(.timeLimit(.minutes(1))) func usualPlaces() async throws {
        let ann = try Machine("ann") { folder in
            [
                "STARLING_HOME": "", "HOME": folder, "XDG_RUNTIME_DIR": folder + "/run",
                "XDG_DATA_HOME": folder + "/data",
                "XDG_STATE_HOME": folder + "/state",
            ]
        }
        let folder = try #require(ann.home)
        try FileManager.default.createDirectory(
            atPath: folder + "/run", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let missing = try await ann.starling("who")
        #expect(missing.status == 3 && missing.err.contains("\(folder)/run/starling/starling.sock"))
        #expect(missing.err.contains("\(folder)/.local/state/starling/starling.sock"))
        let started = try await ann.spawn("starling", ["daemon", "start"] + Self.local).finish()
        #expect(started.status == 0 && started.out.contains("\(folder)/state/starling/starlingd.log"), "\(started.err)")
        for file in [
            "run/starling/starling.sock", "data/starling/identity.key", "data/starling/workspace.db",
            "data/starling/lock", "state/starling/starlingd.log",
        ] {
            #expect(FileManager.default.fileExists(atPath: "\(folder)/\(file)"), "\(file)")
        }
        for part in ["run/starling", "data/starling"] { #expect(try mode("\(folder)/\(part)") == 0o700) }
        #expect(try await ann.starling("who").status == 0)
        #expect(try await ann.starling("daemon", "stop").status == 0)

        // Without a runtime directory (cron) both sides meet in the state directory.
        let bare = ["XDG_RUNTIME_DIR": "", "XDG_DATA_HOME": "", "XDG_STATE_HOME": ""]
        let words = ["daemon", "start"] + Self.local
        #expect(try await ann.spawn("starling", words, environment: bare).finish().status == 0)
        #expect(FileManager.default.fileExists(atPath: "\(folder)/.local/state/starling/starling.sock"))
        #expect(FileManager.default.fileExists(atPath: "\(folder)/.local/share/starling/workspace.db"))
        #expect(try await ann.starling("who", environment: bare).status == 0)
        // A client with a runtime directory finds it there too.
        #expect(try await ann.starling("daemon", "stop").status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func placesThatCannotBe() async throws {
        let ann = try Machine("ann")
        let home = try #require(ann.home)
        let deep = home + "/" + String(repeating: "d", count: 100)
        for program in ["starling", "starlingd"] {
            let words = program == "starling" ? ["who"] : ["--no-discovery"]
            let result = try await ann.spawn(program, ["--home", deep] + words).finish()
            #expect(result.status == 1 && result.err.contains("107"), "\(result.err)")
        }
        // Others could write there, or read the key.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: home)
        let open = try await ann.spawn("starlingd", ["--no-discovery"]).finish()
        #expect(open.status == 1 && open.err.contains("chmod 700"), "\(open.err)")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: home)
        try await ann.startLocally()
        try await ann.stop()
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: home + "/identity.key")
        let readable = try await ann.spawn("starlingd", ["--no-discovery"]).finish()
        #expect(readable.status == 1 && readable.err.contains("chmod 600"), "\(readable.err)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home + "/identity.key")
        // --home wins over STARLING_HOME, and a relative one counts from here.
        let other = try Machine("other")
        let process = try ann.spawn(
            [
                "sh", "-c", "cd \"$1\" && exec \"$0\" --home deep/er --no-discovery --listen 127.0.0.1:0",
                Lab.product("starlingd"), other.home ?? "",
            ])
        #expect(try await process.nextLine() == "ready")
        let who = try await ann.starling("--home", "\(other.home ?? "")/deep/er", "who", "--json")
        #expect(who.status == 0, "\(who.err)")
        process.terminate()
        #expect(try await process.wait() == 0)
    }

    /// Two daemons of one user, or two users of one machine: each has a port.
    @Test(.timeLimit(.minutes(1))) func aTakenPortIsNoObstacle() async throws {
        let machines = [try Machine("ann"), try Machine("bob"), try Machine("eve")]
        for machine in machines { try await machine.start("--no-discovery") }
        var ports: [Int] = []
        for machine in machines { ports.append(try await machine.port) }
        #expect(Set(ports).count == 3)
        // It is remembered, so that others find it again.
        try await machines[2].stop()
        try await machines[2].start("--no-discovery")
        #expect(try await machines[2].port == ports[2])
        let dan = try Machine("dan")
        let words = ["--no-discovery", "--listen", "127.0.0.1:\(ports[2])"]
        let taken = try await dan.spawn("starlingd", words).finish()
        #expect(taken.status == 1 && taken.err.contains("cannot listen on \(words[2])"), "\(taken.err)")
    }
}
