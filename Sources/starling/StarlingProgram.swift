internal import CommandLineKit
internal import ControlAPI

/// The table of commands, and what carries each out.
enum StarlingProgram {
    static let table = Program(
        root: Command(
            "starling", "Chat with the people on your network, without a server",
            details: [
                "Without a command it opens the chat, and starts the daemon if none runs.",
                "starling help COMMAND shows the help of a command, as does --help behind it.",
                "Write '#general' in quotes, or general without the #: in a shell, # begins a comment.",
            ],
            options: [
                Option(
                    "home", value: "DIR", "Socket, keys and database under DIR instead of the user's usual places")
            ],
            subcommands: [
                Send.command, Read.command, Search.command, Edit.command, Delete.command, React.command,
                MessageStatus.command, Channels.command,
                VerifyIdentity.command, Mute.command, Block.command,
                Who.command, Typing.command, Status.command, Doctor.command,
                Verify.command, Peer.command, Workspace.command, Identity.command,
                Profile.command, Tree.command, Daemon.command, CompletionScript.command,
            ],
            examples: [
                Example("starling", "Open the chat"),
                Example("uptime | starling send ops", "Send a command's output to #ops"),
            ]),
        version: StarlingVersion.current,
        exitCodes: [
            ExitCode(0, "done"), ExitCode(1, "failed"), ExitCode(2, "the command line makes no sense"),
            ExitCode(3, "no daemon runs; the message names the command that starts it"),
            ExitCode(4, "not found, or more than one found"), ExitCode(5, "denied"),
        ],
        environment: [
            (name: "STARLING_HOME", meaning: "as --home"),
            (name: "XDG_RUNTIME_DIR", meaning: "where the daemon's socket is looked for first, in starling/"),
            (name: "XDG_STATE_HOME", meaning: "where the log of a daemon started in the background is, in starling/"),
            (name: "NO_COLOR", meaning: "no colour, whatever its value"),
            (name: "TERM", meaning: "no colour and no chat if it is dumb or not set"),
        ],
        files: [
            (path: "$XDG_RUNTIME_DIR/starling/starling.sock", meaning: "the daemon's socket"),
            (path: "~/.local/state/starling/starling.sock", meaning: "the same where there is no runtime directory"),
            (path: "~/.local/state/starling/starlingd.log", meaning: "log of a daemon started in the background"),
        ])

    /// What carries out the command at a path of the table, the names joined by spaces.
    static let runs: [String: @Sendable (Session) throws -> Void] = [
        "": chat,
        "send": Send.run, "read": Read.run, "search": Search.run, "edit": Edit.run, "delete": Delete.run,
        "react": React.run,
        "message status": MessageStatus.run,
        "channels": Channels.list, "channels create": Channels.create, "channels rename": Channels.rename,
        "channels topic": Channels.topic, "channels archive": Channels.archive,
        "channels retain": ChannelRetention.run,
        "verify-identity": VerifyIdentity.run, "mute": Mute.run, "block": Block.run,
        "who": Who.run, "typing": Typing.run, "status": Status.run, "verify": Verify.run,
        "doctor": Doctor.run,
        "peer add": Peer.add, "peer remove": Peer.remove, "peer list": Peer.list,
        "workspace": Workspace.show, "workspace show": Workspace.show, "workspace create": Workspace.create,
        "workspace here": Workspace.here, "workspace invite": WorkspaceInvite.run, "workspace join": Workspace.join,
        "workspace leave": Workspace.leave, "workspace remove": Workspace.remove,
        "identity": Identity.show, "identity show": Identity.show, "identity new": Identity.renew,
        "profile": Profile.run,
        "tree get": TreeRead.get, "tree watch": TreeRead.watch, "tree set": TreeWrite.set,
        "tree update": TreeWrite.update, "tree push": TreeWrite.push, "tree remove": TreeWrite.remove,
        "tree hold": TreeHold.run,
        "tree history": TreeHistory.run,
        "daemon start": Daemon.start, "daemon stop": Daemon.stop, "daemon run": Daemon.run, "daemon log": Daemon.log,
        "completion": CompletionScript.run,
    ]

    private static func chat(_ session: Session) throws {
        guard !session.output.isDumb else {
            throw session.invocation.usageError(
                "the chat needs a terminal that can move its cursor, and by TERM this one cannot; without one use: "
                    + "starling send '#general' TEXT, starling read '#general' -f")
        }
        try Chat.run(session)
    }

    static func run(_ session: Session) throws {
        guard let run = runs[session.invocation.path.joined(separator: " ")] else {
            throw session.invocation.usageError("this command does nothing by itself")
        }
        try run(session)
    }
}
