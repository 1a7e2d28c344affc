internal import CommandLineKit
internal import ControlAPI
internal import ControlClient
internal import Glibc

/// `starling` alone
enum Chat {
    static func run(_ session: Session) throws {
        guard session.output.isTerminal, StandardInput.isTerminal else {
            throw session.invocation.usageError(
                "the chat needs a terminal; without one use: starling send '#general' TEXT, starling read '#general' -f"
            )
        }
        let places = try session.places
        let client = try connect(session, places)
        try ChatLoop(client, places, session.output).run()
    }

    /// A connection to the daemon, which is started if none runs.
    private static func connect(_ session: Session, _ places: SocketPlaces) throws -> ControlClient {
        guard let client = try Daemon.running(session) else {
            session.output.line(session.output.styled("starting starlingd…", .dim))
            session.output.flush()
            return try Daemon.launch(places)
        }
        guard client.hello.version != StarlingVersion.current else { return client }
        return try offerRestart(client, session, places)
    }

    /// After an upgrade the old daemon runs still.
    private static func offerRestart(
        _ client: ControlClient, _ session: Session, _ places: SocketPlaces
    ) throws -> ControlClient {
        let version = Escaper.escape(client.hello.version)
        session.output.text(
            "starlingd \(version) runs, and this is starling \(StarlingVersion.current). Restart the daemon now? [Y/n] "
        )
        session.output.flush()
        let answer = readLine() ?? "n"
        guard answer.isEmpty || answer.lowercased().hasPrefix("y") else { return client }
        try client.stopDaemon()
        return try Daemon.launch(places)
    }
}
