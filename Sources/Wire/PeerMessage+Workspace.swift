internal import CBOR
internal import Seal

// The messages about a workspace's key.
extension PeerMessage {
    func encodeWorkspace(to writer: inout CBORWriter) {
        switch self {
        case .epoch(let record):
            writer.array(5)
            writer.unsigned(Tag.epoch)
            writer.byteString(record.workspace.bytes)
            writer.unsigned(record.number)
            writer.epochMembers(record.members)
            writer.byteString(record.signature.bytes)
        case .outdated:
            writer.array(1)
            writer.unsigned(Tag.outdated)
        default: return
        }
    }
}

extension MessageReader {
    mutating func workspaceMessage(_ tag: UInt64) throws -> PeerMessage? {
        switch tag {
        case Tag.epoch:
            let (workspace, number) = (try bytes32(), try cbor.unsigned())
            let members = try list(max: EpochRecord.membersMax) { try $0.epochMember() }
            guard zip(members, members.dropFirst()).allSatisfy({ $0.node < $1.node }) else { throw WireError.malformed }
            return .epoch(
                EpochRecord(workspace: workspace, number: number, members: members, signature: try signature()))
        case Tag.outdated: return .outdated
        default: return nil
        }
    }

    private mutating func epochMember() throws -> EpochRecord.Member {
        try cbor.array(of: 2)
        let (node, box) = (try bytes32(), try cbor.byteString())
        guard box.count == SealedBox.size else { throw WireError.malformed }
        return EpochRecord.Member(node: node, box: Array(box))
    }
}
