internal import ControlAPI

/// Where one is, and what the chat says of it.
extension ChatModel {
    /// A model that knows nothing yet, for another workspace on the same terminal.
    func inAnotherWorkspace(uid: String) -> ChatModel {
        ChatModel(uid: uid, style: style, columns: columns, isPlain: isPlain, time: time)
    }

    /// Where one is, who can read it, and how to go on.
    func header(workspace: String, _ attribute: Style.Attribute) -> [String] {
        let here =
            "starling · workspace \(Escaper.escape(workspace))" + Workspace.readers(of: workspace)
            + " · you are \(names.shown(uid))"
        let help = "/nick NAME changes your name, /help lists the commands, /quit leaves"
        let width = max(20, columns - 1)
        return MessageFormat.wrapped(here, width).map { style.apply($0, [attribute]) }
            + MessageFormat.wrapped(help, width).map { style.apply($0, [.dim]) }
    }
}
