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
    /// To be called when nothing else is to be done: what would hold somebody up later is done now.
    func rest() throws
    /// Bytes of the database on disk, with its log; 0 in memory.
    var databaseBytes: Int { get throws }
    /// What all entries take.
    var tally: Tally { get throws }
    /// What the entries of those authors take who have most bytes here, most first.
    func largestAuthors(limit: Int) throws -> [AuthorTally]
    /// The dead that are still here.
    var remains: Remains { get throws }

    /// The greatest time of a live entry that is not after `limit`; zero where there is none.
    func greatestHLC(notAfter limit: HLC) throws -> HLC

    /// Issues some of a node's own entries anew, in a transaction of their own: those of the state that are left.
    ///
    /// The old ones are gone as if they had never been. One stays whose successor would be dead or not allowed.
    ///
    /// - `workspaceMs`: the new times are later than this, and than all that is not issued anew.
    /// - `limit`: entries of one call; each costs a signature.
    func renew(
        _ state: inout RenewalState, by key: SigningKey, workspace: Bytes32, workspaceMs: UInt64, limit: Int
    ) throws -> RenewalResult
    /// The time of the key that has taken the place of one of this time; nil if none has.
    func renewedTime(ofKey hlc: HLC) throws -> HLC?

    /// Count and sum of BLAKE2b-256(key: nonce, id) over a bucket's entries, recomputed from the entries: what two
    /// nodes compare when sums of bare ids could have been forged. About 1.5 s a million entries.
    ///
    /// - `nonce`: at most `nonceBytesMax` bytes; a longer one throws.
    func keyedDigest(nonce: [UInt8], of bucket: TimeBucket) throws -> BucketDigest

    /// Stamps of the live entries of an author that are signed singly, in order, at most `limit`.
    func singles(of author: Bytes32, from lower: HLC, through upper: HLC, limit: Int) throws -> [Stamp]
    /// Whether a bundle is here, with one of its entries at least.
    func knows(_ seal: BundleSeal) throws -> Bool
    /// Makes entries that are signed singly leaves of a bundle whose signature was checked.
    ///
    /// - `stamps`: of all its entries, in order.
    /// - `slice`: those that are moved now: as many as one transaction may take.
    func adopt(_ seal: BundleSeal, _ stamps: [Stamp], slice: Range<Int>) throws
    /// The retention of a channel.
    func retention(ofChannel cid: Key) throws -> Retention?
    /// Messages of a container whose keys come before one, counted up to `limit`.
    func messageCount(container: Path, before key: String, limit: Int) throws -> Int

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

    /// Visits what others overwrote at a path, below it and above it, the last death first, until the body returns
    /// false.
    ///
    /// - `before`: the number of a grave: only those that died before it.
    /// - `limit`: graves that are visited at most; their values are read one by one.
    func graves(around path: Path, before: Int64?, limit: Int, _ body: (Grave) throws -> Bool) throws
    /// Visits those of them whose id lies in a range, in the order of the ids, until the body returns false.
    func graves(around path: Path, ids: ClosedRange<Bytes32>, _ body: (Grave) throws -> Bool) throws
    /// Tells what this machine's clock shows, milliseconds since 1970: the time of the deaths that follow.
    ///
    /// Each call ages the graves by ``Graveyard/gapMsMax`` at most.
    func tellTime(_ nowMs: UInt64)
    /// Tells the time as ``tellTime(_:)`` does and removes up to `limit` of the graves that have been there for
    /// ``Graveyard/keptMs``; returns whether more are left.
    func expireGraves(nowMs: UInt64, limit: Int) throws -> Bool
    /// As the replica's, which a node's store always knows.
    var lastChange: Int64 { get }
    /// The number of the last change that an author has made at or below a path and that is live; 0 where there is
    /// none.
    func lastChange(at path: Path, by author: Bytes32) throws -> Int64
    /// The number of the change up to which the search index has followed; goes back where it has to be made anew.
    var indexedChange: Int64 { get }
    /// Whether the search index knows of a change and of all before it.
    func isIndexed(through change: Int64) throws -> Bool
    /// Brings the search index nearer to the tree, in a transaction of its own; returns whether more is left. Nothing
    /// is lost if the process dies in between.
    ///
    /// - `limit`: changes that are looked at, at most.
    /// - `goesOn`: asked after each; false ends the step, for a large message may take as long as many small ones.
    func indexMessages(limit: Int, while goesOn: () -> Bool) throws -> Bool
    /// Messages of public channels, newest first: every one that matches as far as the index knows, and maybe others.
    ///
    /// The index may be behind, and what it would take long to find out it does not: the caller looks at the message
    /// itself. A page may be shorter than `limit`, or empty, and still not the last.
    ///
    /// - `before`: where the last page has ended.
    /// - `limit`: messages of one page.
    /// - `goesOn`: asked again and again; after false the page ends, and those after it come from shorter looks.
    func messages(
        _ search: MessageSearch, before: SearchPosition?, limit: Int, while goesOn: () -> Bool
    ) throws -> SearchPage

    /// A setting of this node alone, nil where it was never set.
    func setting(_ name: String) throws -> [UInt8]?
    /// Keeps a setting; nil forgets it.
    func setSetting(_ name: String, _ value: [UInt8]?) throws

    /// The writes that clients have left for the end of their sessions, by session and path.
    func disconnectWrites() throws -> [DisconnectWrite]
    /// Forgets such writes of a session and then keeps others, together.
    func changeDisconnectWrites(of session: Int, removing: [PathKey], adding: [PathKey: [UInt8]]) throws
    /// Commits what such writes of a session have come to, and forgets them in the same transaction: whenever the
    /// process dies, they are either waiting or done.
    func commit(_ bundles: [Bundle], heldAfter: HLC, endingWrites: [PathKey], of session: Int) throws -> CommitResult
}

extension NodeStore {
    /// Whether a retention has ended what stands at a path, or would stand there.
    public func hasEnded(_ path: Path) throws -> Bool {
        guard path.depth > 3, path.keys[0].text == "channels", path.keys[2].text == "messages" else { return false }
        return try retention(ofChannel: path.keys[1])?.covers(PathKey(path)) ?? false
    }

    /// Brings the search index nearer to the tree by at most `limit` changes; returns whether more is left.
    public func indexMessages(limit: Int) throws -> Bool { try indexMessages(limit: limit) { true } }

    /// Messages of public channels, newest first: every one that matches, and maybe others; however long it takes.
    public func messages(_ search: MessageSearch, before: SearchPosition?, limit: Int) throws -> SearchPage {
        try messages(search, before: before, limit: limit) { true }
    }

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
