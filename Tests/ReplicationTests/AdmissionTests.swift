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

    /// What is remembered of a bundle lets its other parts pass, and nothing that was not signed.
    @Test func aRememberedSignatureIsGoodForItsOwnBundleAlone() throws {
        let known = VerifiedSignatures()
        let entries = try (0..<8).map { try entry("apps/\($0)", 5000 + UInt64($0)) }
        let whole = Bundle(signing: entries, by: author, workspace: workspace)
        func judge(_ bundle: Bundle, _ workspace: Bytes32) -> Int {
            Admission.judge([bundle], workspace: workspace, known: known).admitted.count
        }
        for part in [[0, 1], [5], [2, 3, 4, 6, 7]] {
            #expect(judge(try #require(whole.keeping(part)), workspace) == 1)
        }
        let part = try #require(whole.keeping([0, 1]))
        #expect(judge(part, Bytes32(repeating: 8)) == 0)
        var forged = part.leaves
        forged[1] = Bundle.Leaf(index: 1, entry: try entry("apps/1", 5001, .bool(false)))
        func claim(author: Bytes32? = nil, count: Int = 8, leaves: [Bundle.Leaf]? = nil) -> Bundle {
            Bundle(
                author: author ?? part.author, count: count, signature: part.signature, leaves: leaves ?? part.leaves,
                omitted: part.omitted)
        }
        #expect(judge(claim(), workspace) == 1)
        #expect(judge(claim(leaves: forged), workspace) == 0)
        #expect(judge(claim(count: 7), workspace) == 0)
        #expect(judge(claim(author: victim.publicKey), workspace) == 0)
    }
}
