extension Entry {
    private static let text = Key("text")
    private static let messageDepth = 4
    private static let messageChildren = 4

    /// Bytes that the entry takes on its way to another node, roughly. What a message of the chat says again of its
    /// path, its author and its time, about 180 bytes, is left out there.
    public var transferSize: Int {
        let whole = encoded.count + 16
        guard path.depth == Entry.messageDepth, let object = value.object, object.count == Entry.messageChildren,
            let last = object.children.last, last.key.text.utf8.count == 4, last.key == Entry.text,
            path.last?.text.utf8.count == AutoID.length, case .string(let text) = last.value
        else { return whole }
        return min(whole, text.utf8.count + 24)
    }
}
