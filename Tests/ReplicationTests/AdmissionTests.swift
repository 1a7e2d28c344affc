import Replication
import Seal
import Testing
import Tree

@Suite struct AdmissionTests {
    let author = SigningKey(seed: Bytes32(repeating: 1))
    let victim = SigningKey(seed: Bytes32(repeating: 2))
    let workspace = Bytes32(repeating: 9)

    private func entry(_ text: String, _ ms: UInt64, _ value: Value = .bool(true)) throws -> Entry {
        try Entry(path: try Path(parsing: text), hlc: HLC(ms: ms), author: author.publicKey, value: value)
    }

    /// Entries that the author may not write are left out; the rest of the bundle still proves what its author signed.
    @Test func deniedEntriesTakeNoGoodOnesWithThem() throws {
        let stolen = AutoID(hlc: HLC(ms: 1000), author: victim.publicKey)
        let entries = [
            try entry("apps/a", 5000), try entry("channels/---------lunchlunchlun/messages/\(stolen)/text", 5001),
            try entry("apps/b", 5002), try entry("users/\(UID.text(victim.publicKey))/displayName", 5003),
            try entry("apps/c", 5004),
        ]
        let outcome = Admission.judge(
            [Bundle(signing: entries, by: author, workspace: workspace)], workspace: workspace)
        #expect(outcome.denied == [entries[1].reference, entries[3].reference])
        #expect(outcome.unsigned.isEmpty)
        let rest = try #require(outcome.admitted.first)
        #expect(rest.leaves.map(\.entry) == [entries[0], entries[2], entries[4]])
        #expect(rest.omitted.count == 2)
        #expect(rest.verifies(workspace: workspace))
    }

    @Test func forgedBundlesAreRefused() throws {
        let bundle = Bundle(signing: [try entry("apps/a", 5000)], by: author, workspace: workspace)
        let foreign = Admission.judge([bundle], workspace: Bytes32(repeating: 8))
        #expect(foreign.admitted.isEmpty)
        #expect(foreign.unsigned.count == 1)
        let changed = Bundle(
            author: bundle.author, count: 1, signature: bundle.signature,
            leaves: [Bundle.Leaf(index: 0, entry: try entry("apps/a", 5000, .bool(false)))], omitted: [])
        #expect(Admission.judge([changed], workspace: workspace).admitted.isEmpty)
    }
}
