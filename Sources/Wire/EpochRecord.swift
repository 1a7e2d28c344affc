internal import CBOR
public import Seal

/// The network key of a new epoch of a workspace, sealed to each member. Who made the workspace signs it; whom it does
/// not name has no part in the workspace any more.
///
/// It may be passed on by anybody and shown to anybody: only members can open what is for them.
public struct EpochRecord: Sendable, Hashable {
    /// Members of one record: with 116 bytes each they fit into a message.
    public static let membersMax = 4096

    /// The key for one member.
    public struct Member: Sendable, Hashable {
        public let node: Bytes32
        /// See `SealedBox`.
        public let box: [UInt8]

        public init(node: Bytes32, box: [UInt8]) {
            self.node = node
            self.box = box
        }
    }

    public let workspace: Bytes32
    /// Counts from 1; the first key of a workspace, which no record carries, has 0.
    public let number: UInt64
    /// In the order of their keys, each once.
    public let members: [Member]
    public let signature: Signature

    init(workspace: Bytes32, number: UInt64, members: [Member], signature: Signature) {
        self.workspace = workspace
        self.number = number
        self.members = members
        self.signature = signature
    }

    /// Seals a key to each of `nodes` and signs all of it.
    ///
    /// Members whose key nothing can be sealed to are left out: nobody can own such a key.
    public init(workspace: Bytes32, number: UInt64, networkKey: Bytes32, nodes: Set<Bytes32>, by creator: SigningKey) {
        let members = nodes.sorted().prefix(EpochRecord.membersMax).compactMap { node in
            SealedBox.seal(networkKey, for: node).map { Member(node: node, box: $0) }
        }
        self.init(
            workspace: workspace, number: number, members: members,
            signature: creator.sign(EpochRecord.statement(workspace, number, members)))
    }

    /// Whether the owner of that key has signed it.
    public func verifies(by creator: Bytes32) -> Bool {
        Ed25519.verify(signature, EpochRecord.statement(workspace, number, members), by: creator)
    }

    /// Whether there is a key for a node in it.
    public func names(_ node: Bytes32) -> Bool { members.contains { $0.node == node } }

    /// The network key, for a member.
    public func networkKey(for key: SigningKey) -> Bytes32? {
        members.first { $0.node == key.publicKey }.flatMap { SealedBox.open($0.box, by: key) }
    }

    /// Deterministic CBOR of `["starling-epoch-1", workspace, number, [[node, box]…]]`.
    private static func statement(_ workspace: Bytes32, _ number: UInt64, _ members: [Member]) -> [UInt8] {
        var writer = CBORWriter(reserving: 128 + members.count * 120)
        writer.array(4)
        writer.text("starling-epoch-1")
        writer.byteString(workspace.bytes)
        writer.unsigned(number)
        writer.epochMembers(members)
        return writer.bytes
    }
}

extension CBORWriter {
    mutating func epochMembers(_ members: [EpochRecord.Member]) {
        array(members.count)
        for member in members {
            array(2)
            byteString(member.node.bytes)
            byteString(member.box)
        }
    }
}
