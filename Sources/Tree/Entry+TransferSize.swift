extension Entry {
    private static let text = Key("text")
    private static let messageDepth = 4
    private static let messageChildren = 4
    /// What of a message of the chat does not come again on the wire, at most, where its path and its sender's name
    /// have a usual length.
    private static let saidAgainBytes = 300

    /// Bytes that the entry takes on its way to another node, roughly. What a message of the chat says again of its
    /// path, its author and its time, about 180 bytes, is left out there.
    ///
    /// What only looks like such a message goes whole. It is not looked into, for this is asked of every entry that is
    /// sent, but never taken for more than 300 bytes too little.
    public var transferSize: Int {
        let whole = transferSizeMax
        guard path.depth == Entry.messageDepth, let object = value.object, object.count == Entry.messageChildren,
            let last = object.children.last, last.key.text.utf8.count == 4, last.key == Entry.text,
            path.last?.text.utf8.count == AutoID.length, case .string(let text) = last.value
        else { return whole }
        return min(whole, max(text.utf8.count + 24, whole - Entry.saidAgainBytes))
    }

    /// Bytes that the entry takes on its way to another node at most.
    public var transferSizeMax: Int { encoded.count + 16 }
}
