internal import CommandLineKit
internal import ControlAPI
internal import ControlClient
internal import Glibc

/// `starling daemon`
enum Daemon {
    static let command = Command(
        "daemon", "Start and stop starlingd, which keeps the workspace and talks to the others",
        subcommands: [
            Command(
                "start", "Start it in the background unless it runs",
                details: ["What stands behind -- is given to starlingd; starlingd --help tells what it takes."],
                arguments: [Argument("ARGUMENT", "For starlingd", count: .rest)], options: [.json],
                examples: [
                    Example("starling daemon start", "Start it"),
                    Example(
                        "starling daemon start -- --no-discovery --peer 10.0.0.2:47474", "With arguments of its own"),
                ]),
            Command(
                "stop", "Stop it; what was sent stays and is delivered later", options: [.json],
                examples: [Example("starling daemon stop", "Stop it")]),
            Command(
                "run", "Run it in the foreground, in place of this command",
                arguments: [Argument("ARGUMENT", "For starlingd", count: .rest)],
                examples: [Example("starling daemon run -- --log debug", "See what it does")]),
            Command(
                "log", "Print the end of the log of a daemon started in the background",
                options: [Option("number", short: "n", value: "N", "The last N lines; 20 if not given")],
                examples: [Example("starling daemon log -n 100", "The last 100 lines")]),
        ], group: "Network", isCallable: false)

    static func start(_ session: Session) throws {
        if let client = try running(session) {
            session.print(["version": .string(client.hello.version), "started": false]) {
                session.output.line("starlingd \(Escaper.escape(client.hello.version)) runs already")
            }
            return
        }
        let places = try session.places
        let version = try launch(places, session.invocation.rest("ARGUMENT")).hello.version
        session.print(["version": .string(version), "started": true]) {
            session.output.line(
                "starlingd \(Escaper.escape(version)) runs; its log is \(Escaper.escape(places.log))")
        }
    }

    /// Starts a daemon and connects to it. One that was quicker is as good.
    static func launch(_ places: SocketPlaces, _ arguments: [String] = []) throws -> ControlClient {
        do throws(ClientError) {
            try DaemonStarter.start(places, arguments: arguments)
        } catch {
            guard let client = try? ControlClient.connect(places) else { throw error }
            return client
        }
        return try ControlClient.connect(places)
    }

    /// A connection to the daemon that runs; nil if none does.
    static func running(_ session: Session) throws -> ControlClient? {
        let places = try session.places
        do throws(ClientError) {
            return try ControlClient.connect(places)
        } catch .noDaemon {
            return nil
        }
    }

    static func stop(_ session: Session) throws {
        let answer = try session.client().stopDaemon()
        session.print(answer) { session.output.line("starlingd has stopped") }
    }

    static func run(_ session: Session) throws {
        guard let program = DaemonProgram.find() else {
            throw ClientError.notStarted("starlingd was found neither beside this program nor in PATH")
        }
        var words = [program]
        if let home = try session.places.home { words += ["--home", home] }
        words += session.invocation.rest("ARGUMENT")
        session.output.flush()
        let argv = unsafe words.map { unsafe strdup($0) } + [nil]
        unsafe execv(program, argv)
        throw ClientError.system(doing: "running \(program)", errno: errno)
    }

    static func log(_ session: Session) throws {
        let number = try session.invocation.integer("number", in: 1...100_000) ?? 20
        for line in try LogTail.lines(session.places.log, number) {
            session.output.line(Escaper.escape(line))
        }
    }
}
