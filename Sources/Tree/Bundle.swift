public import Seal

/// What an author signs: 1…4096 of his entries in stamp order, as a Merkle root over their ids.
///
/// A transfer carries some of the entries whole and the hashes of the subtrees it leaves out; the root follows from
/// both.
public struct Bundle: Sendable, Equatable {
    /// Entries in one bundle.
    public static let countMax = 4096

    public struct Leaf: Sendable, Equatable {
        /// Position in the bundle, 0 first.
        public let index: Int
        public let entry: Entry

        public init(index: Int, entry: Entry) {
            self.index = index
            self.entry = entry
        }
    }

    public let author: Bytes32
    /// Entries signed, present here or not: 1…4096.
    public let count: Int
    public let signature: Signature
    /// The entries present here, ascending by index; at least one.
    public let leaves: [Leaf]
    /// Hashes of the maximal subtrees without a present entry, left to right.
    public let omitted: [Bytes32]

    public init(author: Bytes32, count: Int, signature: Signature, leaves: [Leaf], omitted: [Bytes32]) {
        self.author = author
        self.count = count
        self.signature = signature
        self.leaves = leaves
        self.omitted = omitted
    }

    /// Signs entries of one author, given in stamp order.
    public init(signing entries: [Entry], by key: SigningKey, workspace: Bytes32) {
        let root = MerkleTree.root(entries.map(\.id))
        let message = Bundle.message(workspace: workspace, author: key.publicKey, count: entries.count, root: root)
        self.init(
            author: key.publicKey, count: entries.count, signature: key.sign(message),
            leaves: entries.enumerated().map { Leaf(index: $0.offset, entry: $0.element) }, omitted: [])
    }

    /// The 32 bytes that are signed.
    public static func message(workspace: Bytes32, author: Bytes32, count: Int, root: Bytes32) -> [UInt8] {
        var input = Array("starling/bundle/1".utf8)
        workspace.append(to: &input)
        author.append(to: &input)
        let count32 = UInt32(clamping: count)
        for shift in [24, 16, 8, 0] as [UInt32] { input.append(UInt8(truncatingIfNeeded: count32 >> shift)) }
        root.append(to: &input)
        return BLAKE2b.hash(input).bytes
    }

    /// The root that the present entries and the omitted hashes give, or nil where they do not fit together.
    public var root: Bytes32? {
        MerkleTree.root(count: count, leaves: leaves.map { ($0.index, $0.entry.id) }, omitted: omitted)
    }

    /// Whether the author signed exactly these entries: one author, ascending stamps, a proof for each, a signature
    /// that verifies for this workspace. Says nothing about whether he may write there.
    ///
    /// - `check`: what checks a signature over a message by an author.
    public func verifies(
        workspace: Bytes32, check: (Signature, [UInt8], Bytes32) -> Bool = { Ed25519.verify($0, $1, by: $2) }
    ) -> Bool {
        guard (1...Bundle.countMax).contains(count), !leaves.isEmpty, leaves.count <= count else { return false }
        guard leaves.allSatisfy({ $0.entry.author == author }) else { return false }
        guard zip(leaves, leaves.dropFirst()).allSatisfy({ $0.entry.stamp < $1.entry.stamp }) else { return false }
        guard let root else { return false }
        let message = Bundle.message(workspace: workspace, author: author, count: count, root: root)
        return check(signature, message, author)
    }

    /// The bundle with only these leaves present, the others replaced by hashes; nil if none is left.
    public func keeping(_ indices: [Int]) -> Bundle? {
        let wanted = Set(indices)
        let kept = leaves.filter { wanted.contains($0.index) }
        var known: [Range<Int>: Bytes32] = [:]
        let all = leaves.map { ($0.index, $0.entry.id) }
        guard !kept.isEmpty,
            MerkleTree.root(
                count: count, leaves: all, omitted: omitted,
                onSubtree: { known[$0..<($0 + $1)] = $2 }) != nil
        else { return nil }
        for leaf in leaves { known[leaf.index..<(leaf.index + 1)] = MerkleTree.leaf(leaf.entry.id) }
        func hash(_ start: Int, _ count: Int) -> Bytes32? {
            if let hash = known[start..<(start + count)] { return hash }
            guard count > 1 else { return nil }
            let half = MerkleTree.split(count)
            guard let left = hash(start, half), let right = hash(start + half, count - half) else { return nil }
            return MerkleTree.node(left, right)
        }
        guard let hashes = MerkleTree.omitted(count: count, wanted: kept.map(\.index), hash: hash) else { return nil }
        return Bundle(author: author, count: count, signature: signature, leaves: kept, omitted: hashes)
    }
}
