public import Seal

/// Reads live entries by path. A database and an in-memory store both implement it.
///
/// Reads are synchronous and see one consistent state. What is returned may include entries that an ancestor has
/// already killed but that have not been removed yet; ``TreeView`` skips them.
public protocol EntryReader {
    /// The live entry exactly at a path.
    func entry(at path: PathKey) throws -> Entry?
    /// Live entries with `lower` ≤ path < `upper`, in order or backwards, until the body returns false.
    func scan(from lower: PathKey, to upper: PathKey, descending: Bool, _ body: (Entry) throws -> Bool) throws
    /// Those of them that are priorities, in order, found without a look at the others.
    func scanPriorities(from lower: PathKey, to upper: PathKey, _ body: (Entry) throws -> Bool) throws
    /// Visits the children of a path in an order other than by key, or backwards, until the body returns false, and
    /// reads only what it visits.
    ///
    /// The body throws ``StaleOrder`` when a child is not what the index says; the reader then gives the index up and
    /// returns ``OrderAnswer/noIndex``.
    func ordered(
        _ path: Path, by order: Query.Order, _ range: OrderRange, descending: Bool,
        _ body: (Key, SortKey) throws -> Bool
    ) throws -> OrderAnswer
}

/// Whether a reader has children in an order.
public enum OrderAnswer: Sendable {
    case visited
    /// It has not, and will not have: all children are to be read.
    case noIndex
    /// It is making the index, or is going to.
    case notYet
}

/// An index says something else of a child than the tree.
public struct StaleOrder: Error {}

extension EntryReader {
    /// Most readers have few children at any path.
    public func ordered(
        _ path: Path, by order: Query.Order, _ range: OrderRange, descending: Bool,
        _ body: (Key, SortKey) throws -> Bool
    ) throws -> OrderAnswer { .noIndex }
}

/// Reads what replication compares and transfers.
public protocol ReplicaReader {
    /// The number of the last change; rises with every entry that is stored or becomes live.
    var lastChange: Int64 { get throws }
    /// Count and sum of a bucket's entries, live and held ones.
    func digest(of bucket: TimeBucket) throws -> BucketDigest
    /// The non-empty buckets directly below a bucket, oldest first; empty for the finest level.
    func children(of bucket: TimeBucket) throws -> [(bucket: TimeBucket, digest: BucketDigest)]
    /// References of a range's entries, the youngest first, at most `limit`.
    func references(in range: ReferenceRange, newest limit: Int) throws -> [EntryReference]
    /// References of a range's entries, the oldest first, at most `limit`.
    func references(in range: ReferenceRange, oldest limit: Int) throws -> [EntryReference]
    /// Times and ids of a range's entries, the youngest first, at most `limit`.
    func ids(in range: ReferenceRange, newest limit: Int) throws -> [(hlc: HLC, id: Bytes32)]
    /// References of the live entries at and below the last children of a path, from the end, at most `limit`.
    func tail(of path: Path, children: Int, limit: Int) throws -> [EntryReference]
    /// Whether an entry is here, live or held.
    func contains(_ reference: EntryReference) throws -> Bool
    /// The named entries as signed bundles with their proofs, and the references that are not here, until they make
    /// about `bytesMax`; `taken` says for how many of the references, at least one, the result speaks.
    func bundles(
        for references: [EntryReference], bytesMax: Int
    ) throws -> (bundles: [Bundle], gone: [EntryReference], taken: Int)
}

extension ReplicaReader {
    /// All of the named entries.
    public func bundles(for references: [EntryReference]) throws -> (bundles: [Bundle], gone: [EntryReference]) {
        let (bundles, gone, _) = try bundles(for: references, bytesMax: .max)
        return (bundles, gone)
    }
}

/// What a commit did.
public struct CommitResult: Sendable {
    /// Entries that became live, in the order given.
    public var applied: [Entry] = []
    /// Entries kept for later because they lie too far in the future.
    public var held: [Entry] = []
    /// Entries that were dead on arrival: a greater stamp stands at or above their path.
    public var dead: [EntryReference] = []
    /// Entries that were here already.
    public var known: Int = 0

    public init() {}
}

/// Takes verified bundles; everything of one call becomes visible and durable together.
public protocol EntryStore: EntryReader, ReplicaReader {
    /// Applies the merge rule to bundles whose signature and ownership were checked.
    ///
    /// - `heldAfter`: entries later than this are held: kept and counted, but not live.
    func commit(_ bundles: [Bundle], heldAfter: HLC) throws -> CommitResult
    /// Makes held entries live whose time is not after `heldAfter`.
    func release(heldAfter: HLC) throws -> CommitResult
    /// Removes up to `limit` entries that an ancestor killed earlier; returns whether some may be left.
    func sweep(limit: Int) throws -> Bool
}
