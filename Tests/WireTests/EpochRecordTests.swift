import Seal
import Testing
import Wire

/// A new network key for the members of a workspace, and for nobody else.
@Suite struct EpochRecordTests {
    private let creator = SigningKey()
    private let workspace = Bytes32(repeating: 9)
    private let networkKey = Bytes32(repeating: 8)

    private func record(_ nodes: Set<Bytes32>, number: UInt64 = 1) -> EpochRecord {
        EpochRecord(workspace: workspace, number: number, networkKey: networkKey, nodes: nodes, by: creator)
    }

    @Test func membersOpenItAndOthersDoNot() throws {
        let (anna, bert, eve) = (SigningKey(), SigningKey(), SigningKey())
        let record = record([anna.publicKey, bert.publicKey])
        for member in [anna, bert] {
            #expect(record.names(member.publicKey) && record.networkKey(for: member) == networkKey)
        }
        #expect(!record.names(eve.publicKey) && record.networkKey(for: eve) == nil)
        #expect(record.verifies(by: creator.publicKey))
        #expect(!record.verifies(by: anna.publicKey))
        // A box that is moved to another name opens for neither.
        let moved = EpochRecord.Member(node: eve.publicKey, box: record.members[0].box)
        #expect(SealedBox.open(moved.box, by: eve) == nil)
    }

    /// Nobody can be added, left out or numbered otherwise without the creator.
    @Test func whatIsChangedDoesNotVerify() throws {
        let (anna, eve) = (SigningKey(), SigningKey())
        let genuine = record([anna.publicKey], number: 3)
        let others = [record([anna.publicKey, eve.publicKey], number: 3), record([], number: 3)]
        let numbered = record([anna.publicKey], number: 4)
        for other in others + [numbered] { #expect(other.signature != genuine.signature) }
        guard case .epoch(let copy)? = try PeerMessage.decode(PeerMessage.epoch(genuine).encoded) else {
            Issue.record("no record")
            return
        }
        #expect(copy == genuine && copy.verifies(by: creator.publicKey))
        var bytes = PeerMessage.epoch(genuine).encoded
        // The number stands behind the tag and the workspace: 85 18 28 58 20 (32 bytes) 03.
        #expect(bytes[37] == 3)
        bytes[37] = 4
        guard case .epoch(let forged)? = try PeerMessage.decode(bytes) else {
            Issue.record("no record")
            return
        }
        #expect(forged.number == 4 && !forged.verifies(by: creator.publicKey))
    }

    @Test func membersAreInOrderAndOnce() throws {
        let keys = [SigningKey(), SigningKey()]
        let record = record(Set(keys.map(\.publicKey)))
        #expect(record.members.map(\.node) == keys.map(\.publicKey).sorted())
        var bytes = PeerMessage.epoch(record).encoded
        // The second member becomes a second first one.
        let first = record.members[0].node.bytes
        let second = record.members[1].node.bytes
        let place = try #require((0..<bytes.count - 32).last { Array(bytes[$0..<$0 + 32]) == second })
        bytes.replaceSubrange(place..<(place + 32), with: first)
        #expect(throws: WireError.malformed) { _ = try PeerMessage.decode(bytes) }
    }

    /// A key that is no point can belong to nobody.
    @Test func nothingIsSealedToAKeyThatIsNone() {
        let record = record([.zero, creator.publicKey])
        #expect(record.members.map(\.node) == [creator.publicKey])
    }
}
