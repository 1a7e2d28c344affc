/// How far a message has come.
public struct MessageStatusRow: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable {
        /// No other node is known to hold it.
        case queued
        /// At least one other node holds it.
        case held
        /// At least one other person has read it.
        case read
    }

    /// Somebody else.
    public struct Person: Sendable, Equatable {
        public var uid: String
        public var name: String

        public init(uid: String, name: String) { (self.uid, self.name) = (uid, name) }
    }

    public var key: String
    /// The channel's key.
    public var channel: String
    public var state: State
    /// Other nodes that are known to hold it, as it is now.
    public var heldBy: Int64
    /// Whose nodes they are, of very many the first.
    public var deliveredTo: [Person]
    /// Who has said that he has read it, of very many the first.
    public var readBy: [Person]

    public init(
        key: String, channel: String, state: State, heldBy: Int64, deliveredTo: [Person], readBy: [Person]
    ) {
        self.key = key
        self.channel = channel
        self.state = state
        self.heldBy = heldBy
        self.deliveredTo = deliveredTo
        self.readBy = readBy
    }

    /// - Throws: ``RPCError/invalidParams(_:)`` with the field that is missing or of the wrong kind.
    public init(json: JSON) throws(RPCError) {
        let fields = try Fields(json)
        guard let state = State(rawValue: try fields.string("state")) else {
            throw RPCError.invalidParams("state must be queued, held or read")
        }
        func person(_ json: JSON) throws(RPCError) -> Person {
            let fields = try Fields(json)
            return Person(uid: try fields.string("uid"), name: try fields.string("name"))
        }
        self.init(
            key: try fields.string("key"), channel: try fields.string("in"), state: state,
            heldBy: try fields.int("heldBy"), deliveredTo: try fields.rows("deliveredTo", person),
            readBy: try fields.rows("readBy", person))
    }

    public var json: JSON {
        func people(_ people: [Person]) -> JSON {
            .array(people.map { ["uid": .string($0.uid), "name": .string($0.name)] })
        }
        return [
            "key": .string(key), "in": .string(channel), "state": .string(state.rawValue), "heldBy": .int(heldBy),
            "deliveredTo": people(deliveredTo), "readBy": people(readBy),
        ]
    }
}
