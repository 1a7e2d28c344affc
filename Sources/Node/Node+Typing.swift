internal import Chat
internal import ControlAPI
internal import Tree

/// The own typing indicator as clients of the tree set it: `true` shows it until the client ends or removes it.
extension Node {
    /// The channel whose typing indicator of this node a path is; nil for any other path.
    func ownTypingChannel(_ path: Path) -> Key? {
        guard let cid = ChatPath.typingChannel(path), path == ChatPath.typing(cid, uid) else { return nil }
        return cid
    }

    /// Sets or removes the own typing indicator if a request names its place; nil if it names another.
    ///
    /// - Parameter value: nil removes it.
    /// - Throws: `not_found` for a channel that nobody has opened, `invalid_params` for a value that it cannot have.
    func setTyping(_ params: Fields, _ value: JSON?, _ session: ControlSession) throws -> JSON? {
        guard let text = params["path"]?.string, text.hasPrefix("channels/") || text.hasPrefix("/channels/"),
            let cid = ownTypingChannel(try path(params))
        else { return nil }
        guard try channelExists(cid) else { throw Node.noChannel(cid.text) }
        switch value {
        case nil, .null?: setTyping(cid, false, holds: false, session)
        case .bool(true)?: setTyping(cid, true, holds: true, session)
        default: throw RPCError.invalidParams("a typing indicator is true, or not there")
        }
        return [:]
    }
}
