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
            "The link is the last line of the output; the code is left out where the terminal has no room for both.",
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
            if !session.invocation.has("no-qr") { show(QRCode(link), of: link, session.output) }
            session.output.line(link)
            session.output.flush()
            let until = answer["expiresAt"]?.int.map { "until \(LocalTime(milliseconds: $0).stamp)" }
            Output.complain("good \(until ?? "for ever"): starling workspace join LINK")
        }
    }
    /// The code, unless the link or the code itself would scroll out of the window.
    private static func show(_ code: QRCode?, of link: String, _ output: Output) {
        guard let code else { return }
        let lines = code.lines(isColoured: output.style.isColoured)
        let columns = code.columns
        // The link, which may take several lines, and one each for the hint below it and the prompt.
        let rows = lines.count + (TextWidth.of(link) + output.columns - 1) / max(1, output.columns) + 2
        guard !output.isTerminal || (output.columns >= columns && (output.rows == 0 || output.rows >= rows)) else {
            return Output.complain("no room for the code: it needs \(columns) columns and \(rows) rows")
        }
        for line in lines { output.line(line) }
    }
}
