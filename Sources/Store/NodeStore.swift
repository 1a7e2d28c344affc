public import Seal
public import Tree

/// Everything a node keeps: the tree's entries, and beside them what it remembers for itself alone.
///
/// Not sendable: a store belongs to its node's actor. ``DatabaseStore`` keeps it in a file, ``MemoryStore`` in memory.
public protocol NodeStore: AnyObject, EntryStore {
    /// Entries here, live and held, including dead ones that wait for `sweep`.
    var entryCount: Int { get throws }
    /// Entries kept for later because they lie too far in the future.
    var heldCount: Int { get throws }
    /// Entries of kinds this version does not know: merged and forwarded, but shown nowhere.
    var unknownCount: Int { get throws }
    /// The time of the earliest held entry: when it is no longer after the limit, `release` makes it live.
    var nextHeldDue: HLC? { get throws }
    /// Who wrote the held entries, most entries first, at most ``HeldAuthor/countMax``.
    var heldAuthors: [HeldAuthor] { get throws }
    /// Bytes the tree occupies on disk without the write-ahead log; 0 in memory.
    var databaseBytes: Int { get throws }

    /// The greatest time of a live entry that is not after `limit`; zero where there is none.
    func greatestHLC(notAfter limit: HLC) throws -> HLC

    /// Count and sum of BLAKE2b-256(key: nonce, id) over a bucket's entries, recomputed from the entries: what two
    /// nodes compare when sums of bare ids could have been forged. About 1.5 s a million entries.
    ///
    /// - `nonce`: at most `nonceBytesMax` bytes; a longer one throws.
    func keyedDigest(nonce: [UInt8], of bucket: TimeBucket) throws -> BucketDigest

    /// The channels, conversations and rooms (`channels/{cid}` …) with a message of this key; usually one.
    func containers(ofMessage mid: String) throws -> [Path]
    /// The arrival number of the newest message of a container; 0 where there is none. Numbers rise in the order of
    /// arrival here, over all containers, and are never given twice.
    func lastArrival(container: Path) throws -> Int64
    /// Messages of a container that arrived after a number and were not written by `author`, at most
    /// `unreadCountMax`.
    func unread(container: Path, afterArrival: Int64, notBy author: Bytes32) throws -> Int
    /// The arrival number up to which a container was read; 0 at first. Known to this node alone.
    func readMark(container: Path) throws -> Int64
    /// Remembers how far a container was read. A mark never goes back.
    func setReadMark(container: Path, arrival: Int64) throws

    /// A setting of this node alone, nil where it was never set.
    func setting(_ name: String) throws -> [UInt8]?
    /// Keeps a setting; nil forgets it.
    func setSetting(_ name: String, _ value: [UInt8]?) throws
}

extension NodeStore {
    /// Bytes of a nonce: what BLAKE2b takes as a key.
    public static var nonceBytesMax: Int { 64 }
    /// `unread` counts no further: nobody reads a greater number, and counting costs time.
    public static var unreadCountMax: Int { 1000 }
    /// Entries that one call kills or releases at most; what remains is left to `sweep` and to the next `release`, so
    /// that no transaction keeps others waiting.
    public static var transactionEntriesMax: Int { 1000 }
}

/// An author whose entries are held.
public struct HeldAuthor: Sendable, Hashable {
    /// Authors that are listed.
    public static let countMax = 16

    public let author: Bytes32
    public let count: Int
    /// The time of the latest: how far ahead the clock was.
    public let latest: HLC
}
