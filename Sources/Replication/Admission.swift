public import Seal
public import Tree

/// Decides which entries of received bundles may be stored: the signature must verify and the author must be allowed to
/// write there. What is refused never takes good entries with it.
public enum Admission {
    public struct Outcome: Sendable {
        /// Bundles with the entries that passed, the refused ones replaced by their hashes.
        public var admitted: [Bundle] = []
        /// Entries whose author may not write there.
        public var denied: [EntryReference] = []
        /// Entries without a valid signature.
        public var unsigned: [EntryReference] = []
        /// What it has cost to find these out, in signatures: one for each of their bundles, and what hashing many
        /// entries takes.
        public var vainSignatures = 0

        /// Without the entries of bundles that are not among these: of a message that was judged as a whole, some were
        /// more than their authors' quotas.
        public func keeping(_ taken: [Bundle]) -> Outcome {
            let takenCount = taken.reduce(0) { $0 + $1.leaves.count }
            let count = admitted.reduce(denied.count + unsigned.count) { $0 + $1.leaves.count }
            guard takenCount < count else { return self }
            var rest = self
            let wanted = Set(taken.flatMap { $0.leaves.map(\.entry.reference) })
            rest.admitted = admitted.filter { $0.leaves.contains { wanted.contains($0.entry.reference) } }
            rest.denied = denied.filter(wanted.contains)
            rest.unsigned = unsigned.filter(wanted.contains)
            return rest
        }
    }

    /// So many entries are hashed in the time that a signature takes.
    private static let hashesASignature = 100

    /// - `known`: remembers signatures of entries that were signed together, for these come in parts.
    /// - `check`: what checks a signature over a message by an author.
    public static func judge(
        _ bundles: [Bundle], workspace: Bytes32, known: VerifiedSignatures? = nil,
        check: (Signature, [UInt8], Bytes32) -> Bool = { Ed25519.verify($0, $1, by: $2) }
    ) -> Outcome {
        var outcome = Outcome()
        for bundle in bundles {
            let isGenuine =
                if bundle.count > 1, let known {
                    bundle.verifies(workspace: workspace) { known.verify($0, $1, by: $2) }
                } else {
                    bundle.verifies(workspace: workspace, check: check)
                }
            guard isGenuine else {
                outcome.unsigned += bundle.leaves.map(\.entry.reference)
                outcome.vainSignatures += 1 + bundle.leaves.count / hashesASignature
                continue
            }
            var allowed: [Int] = []
            for leaf in bundle.leaves {
                if Ownership.denial(of: leaf.entry) == nil {
                    allowed.append(leaf.index)
                } else {
                    outcome.denied.append(leaf.entry.reference)
                }
            }
            if allowed.count == bundle.leaves.count {
                outcome.admitted.append(bundle)
            } else if let rest = bundle.keeping(allowed) {
                outcome.admitted.append(rest)
            }
        }
        return outcome
    }
}
