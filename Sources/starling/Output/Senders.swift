internal import ControlAPI

/// What those who wrote messages are called. A message says what its sender was called, and can say anything: who is
/// known here is shown by the name that is theirs, told apart from everybody else of that name, whether these have
/// written or not.
struct Senders {
    private(set) var names = Names()
    private var known: Set<String> = []
    /// People with a name that is known from another key.
    private var namesakes: Set<String> = []

    init(_ people: [PersonRow] = []) {
        for row in people {
            names.set(row.uid, row.name)
            // Else the name is only the beginning of the uid.
            if row.name != row.uid.prefix(8) { known.insert(row.uid) }
            if row.namesakeOf != nil { namesakes.insert(row.uid) }
        }
    }

    init(_ session: Session) throws {
        self.init(try Fields(session.call("people.list")).rows("people", PersonRow.init(json:)))
    }

    mutating func add(_ message: MessageRow) {
        if !known.contains(message.senderId) { names.set(message.senderId, message.senderName) }
    }

    /// The name to show, safe.
    func shown(_ message: MessageRow) -> String {
        (namesakes.contains(message.senderId) ? "⚠" : "") + names.shown(message.senderId)
    }
}
