internal import Seal
internal import Tree

/// Where the signature of an entry is.
enum Proof {
    /// The entry is a bundle of one.
    case single(Signature)
    /// The entry is a leaf of a stored bundle.
    case leaf(bundle: Int64, index: Int)
}

/// What judging entries needs to know of a stored one.
struct Record {
    let row: Int64
    let path: PathKey
    let stamp: Stamp
    /// The bundle it is a leaf of; nil for a bundle of one.
    let bundle: (id: Int64, leaf: Int)?
}

/// What all leaves of one stored bundle have in common.
///
/// Author, count and root together tell bundles apart. The root alone does not: two authors may sign one tree that
/// holds entries of both, and where subtrees are left out one root fits several counts. Each signature covers all
/// three.
struct BundleHead {
    let root: Bytes32
    let author: Bytes32
    let count: Int
    let signature: Signature
}

/// Rows as the merge needs them: the database and the in-memory store differ below this line alone.
///
/// Nothing here judges; ``Merger`` does. Writes happen inside one transaction, which the store opens around a merger.
protocol Tables: AnyObject {
    func live(at path: PathKey) throws -> Record?
    /// Live records with `lower` ≤ path < `upper`, in order, at most `limit`.
    func live(from lower: PathKey, to upper: PathKey, limit: Int) throws -> [Record]
    /// Whether the entry is here, live or held.
    func contains(_ stamp: Stamp) throws -> Bool
    func insert(_ entry: Entry, path: PathKey, held: Bool, proof: Proof) throws
    func remove(_ record: Record) throws
    /// Held entries not after a time, in stamp order.
    func held(notAfter limit: HLC, count: Int) throws -> [(record: Record, entry: Entry)]
    func makeLive(_ record: Record) throws

    func change(_ bucket: TimeBucket, by change: DigestChange) throws

    func bundle(like head: BundleHead) throws -> Int64?
    func addBundle(_ head: BundleHead) throws -> Int64
    func head(ofBundle id: Int64) throws -> BundleHead
    /// Removes a bundle and its proofs.
    func removeBundle(_ id: Int64) throws
    /// Index and id of the leaves that are here, ascending.
    func leaves(ofBundle id: Int64) throws -> [(index: Int, id: Bytes32)]
    func hasLeaves(bundle id: Int64) throws -> Bool
    func proofs(ofBundle id: Int64) throws -> [Span: Bytes32]
    func replaceProofs(ofBundle id: Int64, _ old: [Span: Bytes32], by new: [Span: Bytes32]) throws

    /// Remembers that entries below a path, from `next` on, are still to be judged against the entry at the path.
    func setSweep(_ path: PathKey, next: PathKey) throws
    func firstSweep() throws -> (path: PathKey, next: PathKey)?
    func removeSweep(_ path: PathKey) throws

    /// Gives a message its arrival number unless it has one.
    func addMessage(_ place: MessagePlace, author: Bytes32) throws
    func removeMessage(_ place: MessagePlace) throws

    /// The entries a reference names: one, unless somebody made two ids with the same first eight bytes.
    func stored(_ reference: EntryReference) throws -> [(entry: Entry, proof: Proof)]
}

/// What a transaction adds to one bucket.
struct DigestChange {
    var count = 0
    var sum = Bytes32.zero
}

/// A message: `{channels|dms|rooms}/{x}/messages/{mid}`.
struct MessagePlace: Hashable {
    /// The path key of `{channels|dms|rooms}/{x}`.
    let container: PathKey
    let mid: String

    private static let depth = 4
    private static let roots: Set<String> = ["channels", "dms", "rooms"]
    private static let rootKeys = ["channels", "dms", "rooms"].map { [2] + Array($0.utf8) + [0] }

    init?(_ path: Path) {
        guard path.depth == MessagePlace.depth, path.keys[2].text == "messages",
            MessagePlace.roots.contains(path.keys[0].text), !path.keys[3].isEngine
        else { return nil }
        container = PathKey(path.prefix(2))
        mid = path.keys[3].text
    }

    init?(_ key: PathKey) {
        guard MessagePlace.rootKeys.contains(where: key.bytes.starts(with:)), let path = key.path else { return nil }
        self.init(path)
    }
}
