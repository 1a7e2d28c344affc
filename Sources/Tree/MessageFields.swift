package import Seal

/// The children of a message that follow from its entry, and the others.
package struct MessageFields {
    private static let senderID = Key("senderId")
    private static let senderName = Key("senderName")
    private static let createdAt = Key("createdAt")
    package static let text = Key("text")

    package let name: String
    /// What is neither sender, nor name, nor time.
    package let rest: [ObjectValue.Child]

    /// Nil for what is no message whose sender and time are its entry's.
    package init?(_ entry: Entry) {
        guard let children = entry.value.object?.children, (4...16).contains(children.count) else { return nil }
        var name: String?
        var isSender = false
        var isTime = false
        var rest: [ObjectValue.Child] = []
        for child in children {
            switch (child.key, child.value) {
            case (MessageFields.senderID, .string(let uid)): isSender = uid.utf8.elementsEqual(UID.bytes(entry.author))
            case (MessageFields.senderName, .string(let text)): name = text
            case (MessageFields.createdAt, .integer(let ms)): isTime = UInt64(exactly: ms) == entry.hlc.ms
            default: rest.append(child)
            }
        }
        guard isSender, isTime, let name, !rest.isEmpty, rest.count + 3 == children.count else { return nil }
        self.name = name
        self.rest = rest
    }

    /// The text, if there is nothing else.
    package var onlyText: String? {
        guard rest.count == 1, rest[0].key == MessageFields.text, case .string(let text) = rest[0].value else {
            return nil
        }
        return text
    }

    /// The value of a message again; nil where `rest` has a child that belongs to the entry itself.
    package static func value(_ rest: [(Key, Value)], name: String, _ hlc: HLC, _ author: Bytes32) -> Value? {
        guard let senderID, let senderName, let createdAt, let ms = Int64(exactly: hlc.ms), !rest.isEmpty,
            rest.allSatisfy({ $0.0 != senderID && $0.0 != senderName && $0.0 != createdAt })
        else { return nil }
        let implied: [(Key, Value)] = [
            (createdAt, .integer(ms)), (senderID, .string(UID.text(author))), (senderName, .string(name)),
        ]
        // With a text behind them they are in order.
        return .object(ObjectValue(implied + rest))
    }
}
