internal import CommandLineKit
internal import ControlAPI

/// `starling workspace invite`
enum WorkspaceInvite {
    static let command = Command(
        "invite", "Print a link, and a code to scan, with which somebody can join",
        details: [
            "Whoever has the link has the key of the workspace: pass it on as you would a key. It also says where this "
                + "machine is reached, for networks on which machines do not find each other.",
            "DURATION is as 30m, 12h, 7d or 4w. After that time the link is refused by those who are given it; a copy "
                + "of the key in it is worthless only once a member has been removed.",
        ],
        options: [
            Option("expires", value: "DURATION", "How long the link is good; without it, for ever"),
            Option("no-qr", "Print the link alone"), .json,
        ],
        examples: [
            Example("starling workspace invite", "A link and a code"),
            Example("starling workspace invite --expires 12h --no-qr", "A link for today"),
        ])

    static func run(_ session: Session) throws {
        var params: JSONObject = [:]
        if let word = session.invocation.value("expires") {
            guard let ms = TimeWord.span(word), ms > 0 else {
                throw session.invocation.usageError("--expires is as 30m, 12h, 7d or 4w")
            }
            params["expiresMs"] = .int(ms)
        }
        let answer = try session.call("workspace.invite", .object(params))
        session.print(answer) {
            let link = Escaper.escape(answer["link"]?.string ?? "")
            session.output.line(link)
            if !session.invocation.has("no-qr"), let code = QRCode(link) {
                for line in code.lines(isColoured: session.output.style.isColoured) { session.output.line(line) }
            }
            let until = answer["expiresAt"]?.int.map { "until \(LocalTime(milliseconds: $0).stamp)" }
            Output.complain("good \(until ?? "for ever"): starling workspace join LINK")
        }
    }
}
