internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// `starling workspace`
enum Workspace {
    static let command = Command(
        "workspace", "Whom you share messages with: anybody on the network, or those you have invited",
        details: [
            "Without having chosen you are in the open workspace, which anybody on the network can read and write to. "
                + "In a private one are only those who have an invite. Both have nothing to do with each other.",
            "A home is in one workspace at a time; what was written in another is kept until you come back.",
        ],
        options: [.json],
        subcommands: [
            Command(
                "create", "Make a private workspace and go into it",
                arguments: [Argument("NAME", "What it is called, 1 to 80 bytes")], options: [.json],
                examples: [Example("starling workspace create team", "Then invite others")]),
            Command(
                "show", "Show which workspace you are in, and who can read it", options: [.json],
                examples: [Example("starling workspace show", "Who reads what I write?")]),
            Command(
                "here", "Let the open workspace live on this network too",
                details: [
                    "It remembers the network that it lives on. On another one it rests: nobody is looked for and "
                        + "nobody let in, so that an office's messages do not walk into a café."
                ],
                options: [.json],
                examples: [Example("starling workspace here", "After moving to another network for good")]),
            WorkspaceInvite.command,
            Command(
                "join", "Go into a private workspace",
                arguments: [Argument("INVITE", "The link; without it, standard input is read", count: .optional)],
                options: [.json],
                examples: [
                    Example("starling workspace join starling://join/4kB…", "Go where the link leads"),
                    Example("starling workspace join <invite.txt", "The link in no list of processes"),
                ]),
            Command(
                "leave", "Go back into the open workspace",
                details: ["The others keep what was written, and so does this machine; the files are named."],
                options: [.json], examples: [Example("starling workspace leave", "Back to where anybody is")]),
            Command(
                "remove", "Keep a member out from now on",
                details: [
                    "The workspace gets a new key, sealed to everybody else; who is away now is handed it later. What "
                        + "the member has read so far stays read. Invites made before are worthless from then on.",
                    "Only who has made the workspace can do it.",
                ],
                arguments: [Argument("MEMBER", "Name or uid")], options: [.json],
                examples: [Example("starling workspace remove eve", "Eve has left the company")]),
        ], group: "Network", examples: [Example("starling workspace", "Which one you are in")])

    static func show(_ session: Session) throws {
        try show(try session.call("workspace.show"), session)
    }

    static func create(_ session: Session) throws {
        let name = try session.invocation.required("NAME")
        try enter(try session.call("workspace.create", ["name": .string(name)]), session) {
            "Invite others: starling workspace invite"
        }
    }

    static func join(_ session: Session) throws {
        let link = session.invocation.argument("INVITE")
        let invite = try link ?? input(session)
        try enter(try session.call("workspace.join", ["invite": .string(invite)]), session) {
            "What its members have written comes as soon as one of them is reached"
        }
    }

    private static let inviteMax = 4096

    private static func input(_ session: Session) throws -> String {
        guard !StandardInput.isTerminal else {
            throw session.invocation.usageError("INVITE is missing: give it, or pipe it in")
        }
        return try StandardInput.text(sizeMax: inviteMax)
    }

    static func leave(_ session: Session) throws {
        let answer = try session.call("workspace.leave")
        _ = try ControlClient.connect(try session.places, toWorkspace: answer["id"]?.string ?? "")
        try session.print(answer) {
            session.output.line("You are in the open workspace again, which anybody on the network can read")
            for path in try WorkspaceRow(json: answer).kept { session.output.line("kept: \(Escaper.escape(path))") }
        }
    }

    static func here(_ session: Session) throws {
        try show(try session.call("workspace.here"), session)
    }

    static func remove(_ session: Session) throws {
        let member = try session.invocation.required("MEMBER")
        try show(try session.call("workspace.remove", ["member": .string(member)]), session)
    }

    /// Waits until the daemon has started anew in the workspace that it has answered with.
    private static func enter(_ answer: JSON, _ session: Session, next: () -> String) throws {
        let (_, row) = try ControlClient.connect(try session.places, toWorkspace: answer["id"]?.string ?? "")
        session.print(row.json) {
            session.output.line("You are in the private workspace \(Escaper.escape(row.name)) now. \(next())")
        }
    }

    private static func show(_ answer: JSON, _ session: Session) throws {
        let row = try WorkspaceRow(json: answer)
        session.print(answer) { for line in lines(row, session.output) { session.output.line(line) } }
    }

    static func lines(_ row: WorkspaceRow, _ output: Output) -> [String] {
        let name = output.styled(Escaper.escape(row.name), .bold)
        let people = row.members.map { Words.count($0, "person", "people") } ?? ""
        guard !row.isPrivate else {
            let creator = Escaper.escape(row.creatorName ?? row.creator ?? "")
            return [
                "\(name): private; only members can read it (\(people) so far)",
                output.styled("id   \(Escaper.escape(row.id))", .dim),
                output.styled("made by \(creator); its key was changed \(times(row.epoch ?? 0))", .dim),
            ]
        }
        var lines = ["\(name): anybody on the network can read it and write to it (\(people) so far)"]
        if !row.networks.isEmpty {
            lines.append(output.styled("lives on \(Escaper.escape(row.networks.joined(separator: ", ")))", .dim))
        }
        if row.isPaused {
            let here = Escaper.escape(row.network.joined(separator: ", "))
            lines.append(
                output.styled("paused: this is another network, \(here); to go on: starling workspace here", .yellow))
        }
        return lines
    }

    /// What everybody has to know who is in the open workspace, which no other is called.
    static func readers(of workspace: String) -> String {
        workspace == "open" ? ", which anybody on the network can read" : ""
    }

    private static func times(_ count: Int64) -> String {
        switch count {
        case 0: "never"
        case 1: "once"
        default: "\(count) times"
        }
    }
}
