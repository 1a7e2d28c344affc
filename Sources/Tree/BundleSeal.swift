public import Seal

/// A bundle without its entries: what an author says when he signs together what he has signed singly before.
///
/// Whoever holds exactly these entries computes the same root from their ids and needs nothing else.
public struct BundleSeal: Sendable, Hashable {
    public let author: Bytes32
    /// The first and the last of the entries.
    public let first: Stamp
    public let last: Stamp
    /// Entries signed: 1…4096.
    public let count: Int
    public let root: Bytes32
    public let signature: Signature

    public init(first: Stamp, last: Stamp, count: Int, root: Bytes32, signature: Signature) {
        author = first.author
        self.first = first
        self.last = last
        self.count = count
        self.root = root
        self.signature = signature
    }

    /// Signs entries of one author, given by their stamps in order; nil for none, too many, or another's.
    public init?(signing stamps: [Stamp], by key: SigningKey, workspace: Bytes32) {
        guard stamps.count <= Bundle.countMax, let first = stamps.first, let last = stamps.last,
            stamps.allSatisfy({ $0.author == key.publicKey })
        else { return nil }
        let root = MerkleTree.root(stamps.map(\.id))
        let message = Bundle.message(workspace: workspace, author: key.publicKey, count: stamps.count, root: root)
        self.init(first: first, last: last, count: stamps.count, root: root, signature: key.sign(message))
    }

    /// Whether the author signed it for this workspace.
    public func verifies(workspace: Bytes32) -> Bool {
        guard (1...Bundle.countMax).contains(count), first.author == author, last.author == author, !(last < first)
        else { return false }
        let message = Bundle.message(workspace: workspace, author: author, count: count, root: root)
        return Ed25519.verify(signature, message, by: author)
    }

    /// Whether these are the stamps of exactly its entries, in order.
    public func fits(_ stamps: [Stamp]) -> Bool {
        stamps.count == count && stamps.first == first && stamps.last == last
            && MerkleTree.root(stamps.map(\.id)) == root
    }
}

/// What became of a bundle that an author has announced.
public enum Adoption: Sendable, Equatable {
    /// Its entries were here, each signed for itself; now they are its leaves.
    case adopted
    /// Not exactly these entries are here, or they are signed together already.
    case ignored
    /// Its signature is not the author's.
    case forged
}
