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
    /// Of a live message in a database.
    let arrival: Int64?
    let size: Size

    /// What a ``Tally`` counts of it.
    struct Size {
        let isHeld: Bool
        let valueBytes: Int
        let isTombstone: Bool
    }
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
    /// The entry with a stamp, live or held.
    func record(_ stamp: Stamp) throws -> Record?
    /// Makes an entry that is signed singly a leaf of a bundle.
    func move(_ record: Record, toBundle id: Int64, leaf: Int) throws
    /// The entry is about to be written, and probably to be read.
    func remember(_ entry: Entry)
    /// Entries of one bundle that are worth remembering.
    var rememberedOfBundle: Int { get }
    /// A live message gets an arrival number: that of the one it replaces, or a new one. Returns the bytes that the
    /// value takes.
    func insert(_ entry: Entry, path: PathKey, held: Bool, proof: Proof) throws -> Int
    /// - `isReplaced`: another entry is inserted at its path, next.
    func remove(_ record: Record, isReplaced: Bool) throws
    /// Whether there are held entries.
    var hasHeld: Bool { get throws }
    /// Held entries not after a time, in stamp order.
    func held(notAfter limit: HLC, count: Int) throws -> [(record: Record, entry: Entry)]
    func makeLive(_ record: Record, _ entry: Entry) throws
    /// Live entries of an author after a time and id, in stamp order.
    func live(
        of author: Bytes32, after hlc: HLC, id: Bytes32, limit: Int
    ) throws -> [(record: Record, entry: Entry)]
    /// The time that was given for one of a wrong clock; nil if none was.
    func renewedTime(of old: HLC) throws -> HLC?
    func setRenewedTime(of old: HLC, _ new: HLC) throws
    /// The greatest that was given.
    func greatestRenewedTime() throws -> HLC?

    func change(_ bucket: TimeBucket, by change: DigestChange) throws
    func change(_ author: Bytes32, by tally: Tally) throws

    func bundle(like head: BundleHead) throws -> Int64?
    func addBundle(_ head: BundleHead) throws -> Int64
    func head(ofBundle id: Int64) throws -> BundleHead
    /// Removes a bundle and its proofs.
    func removeBundle(_ id: Int64) throws
    /// Index and id of the leaves that are here, ascending.
    func leaves(ofBundle id: Int64) throws -> [(index: Int, id: Bytes32)]
    /// Those of them whose index lies in a range.
    func leaves(ofBundle id: Int64, in range: Range<Int>) throws -> [(index: Int, id: Bytes32)]
    func hasLeaves(bundle id: Int64) throws -> Bool
    /// What is remembered of bundles that were served; a bundle that is removed is forgotten.
    var trees: BundleTrees { get set }
    func proofs(ofBundle id: Int64) throws -> [Span: Bytes32]
    func replaceProofs(ofBundle id: Int64, _ old: [Span: Bytes32], by new: [Span: Bytes32]) throws

    /// Keeps a copy of a stored entry that dies; returns the bytes it takes, 0 where nothing was to keep.
    func bury(_ record: Record, killer: Killer) throws -> Int
    /// Keeps an entry that was dead on arrival.
    func bury(_ entry: Entry, path: PathKey, killer: Killer) throws -> Int
    var graveTotals: GraveTotals { get throws }
    /// Removes the oldest graves of an author until they take no more than `bytes`.
    func removeGraves(of author: Bytes32, downTo bytes: Int) throws

    /// Remembers what is still to be swept; there is one sweep for a path.
    func setSweep(_ sweep: Sweep) throws
    /// Of the path that comes first.
    func firstSweep() throws -> Sweep?
    func sweep(at path: PathKey) throws -> Sweep?
    /// The retention of a channel, given `retention/{cid}`.
    func retention(_ rules: PathKey) throws -> Retention?
    func removeSweep(_ path: PathKey) throws

    /// The entries a reference names: one, unless somebody made two ids with the same first eight bytes.
    func stored(_ reference: EntryReference) throws -> [(entry: Entry, proof: Proof)]
}

/// Entries below a path, from `next` on, that are still to be judged against the entry at the path.
struct Sweep {
    let path: PathKey
    let next: PathKey
    /// Who killed them first. Nil where an older version left the sweep.
    let killer: Killer?
}

/// What a transaction adds to one bucket.
struct DigestChange {
    var count = 0
    var sum = Bytes32.zero

    mutating func add(_ other: DigestChange) {
        count += other.count
        sum &+= other.sum
    }
}

/// A message: `{channels|dms|rooms}/{x}/messages/{mid}`.
struct MessagePlace: Hashable {
    /// The path key of `{channels|dms|rooms}/{x}`.
    let container: PathKey
    let mid: String

    private static let depth = 4
    private static let roots: Set<String> = ["channels", "dms", "rooms"]
    static let rootKeys = ["channels", "dms", "rooms"].map { [2] + Array($0.utf8) + [0] }

    init(container: PathKey, mid: String) { (self.container, self.mid) = (container, mid) }

    init?(_ path: Path) {
        guard path.depth == MessagePlace.depth, path.keys[2].text == "messages",
            MessagePlace.roots.contains(path.keys[0].text), !path.keys[3].isEngine
        else { return nil }
        container = PathKey(path.prefix(2))
        mid = path.keys[3].text
    }

    /// Of an entry that is a message when it is live.
    init?(of entry: Entry) {
        guard MessagePlace.isMessage(entry) else { return nil }
        self.init(entry.path)
    }

    /// Whether an entry below the messages of a container is one of them when it is live.
    static func isMessage(_ entry: Entry) -> Bool {
        entry.kind == Entry.set && entry.path.depth == depth && entry.path.last?.isEngine == false
            && !entry.value.isNull
    }

    init?(_ key: PathKey) {
        guard MessagePlace.rootKeys.contains(where: key.bytes.starts(with:)), let path = key.path else { return nil }
        self.init(path)
    }
}
