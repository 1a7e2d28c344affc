public import Seal
public import Tree

/// What one node tells another over an established link. Deterministic CBOR arrays that begin with an integer tag;
/// unknown tags are ignored, so that versions can add messages.
public enum PeerMessage: Sendable, Equatable {
    /// The first message of both sides.
    case hello(Vitals, peers: [Bytes32])
    /// Asks which children of a bucket differ from the asker's, whose digests are given.
    case compare(TimeBucket, [ChildDigest])
    /// Answers `compare`: the children that differ and are not empty here, with what is below them as far as it is
    /// worth a guess.
    case differ(TimeBucket, [BucketSummary])
    /// Asks for the entries of a range that the asker does not have.
    case sift(Sift)
    /// Ends the answer to the `sift` whose range ends with `through`: all of it has been sent down to `reached`, which
    /// with everything before it is still to be asked for; all there is where `reached` is where the range begins.
    case sifted(through: EntryReference, reached: EntryReference)
    /// Asks for the last messages of a channel before anything else.
    case tail(Tail)
    /// Asks for entries. Every one is answered, in `bundles` or in `gone`.
    case want([EntryReference])
    /// Signed entries: asked for, or pushed by their author or his neighbours.
    case bundles([Bundle])
    /// An author has signed together what he had signed singly: whoever holds exactly these entries adopts it.
    case rebundle(BundleSeal)
    /// Entries asked for that are not here (any more).
    case gone([EntryReference])
    /// Offers entries that have just arrived.
    case have([EntryReference])
    case soft([SoftRecord])
    /// Who else is connected to the sender, and addresses of nodes on this network.
    case peers(connected: [Bytes32], addresses: [PeerAddress])
    case ping(Vitals)
    case pong(Vitals)
    /// Begins a comparison by keyed sums, with the asker's nonce.
    case verify(nonce: [UInt8])
    /// Answers `verify` with the answerer's own nonce. Both together are the key.
    case verified(nonce: [UInt8], answer: [UInt8])
    /// Asks for the keyed sums of the children of a bucket.
    case keyed(key: Bytes32, TimeBucket)
    /// Answers `keyed`.
    case keyedSums(key: Bytes32, TimeBucket, [BucketSummary])
    /// A refusal, for the other side's status.
    case notice(String)
    /// The end of the link, said on purpose: a cut is told from an end.
    case goodbye(String)
    /// How much the sender wants this link, and of how many nodes it has soft state.
    case neighbour(NeighbourPriority, soft: Int)
    /// The sender has links enough; this one ends, and nothing is wrong with it.
    case disconnect
    /// A newcomer's address on a random walk; so many hops are left.
    case forwardJoin(PeerAddress, hops: Int)
    /// Part of the views of `origin` on a random walk; with no hops left, the answer on its way back.
    case shuffle(origin: Bytes32, hops: Int, [PeerAddress])
    /// Push to the sender from now on, and these records of soft state at once. What it lacks of entries it wants.
    case graft(soft: [UInt64])
    /// Only announce to the sender from now on: it has what came from elsewhere.
    case prune
    /// Offers records of soft state; see ``SoftRecord/name``.
    case haveSoft([UInt64])
    /// The network key of a new epoch, sealed to each member.
    case epoch(EpochRecord)
    /// The key of this link is an earlier epoch's, and there is no newer one for whoever uses it.
    case outdated

    /// References in one message; 64 KiB of them.
    public static let referencesMax = 4096
    /// Buckets of which one `differ` speaks.
    public static let summariesMax = 4096
    /// Fingerprints in one message.
    public static let fingerprintsMax = 16_384
    /// Bytes that one `sift` may ask for.
    public static let siftBytesMax = 1 << 20
    /// Messages of a channel that one `tail` may ask for.
    public static let tailMax = 1000
    /// Bytes of bundles in one message, unless a single entry is larger.
    public static let bundleBytesMax = 64 * 1024
    /// Bundles in one message: as many of one small entry as fit into its bytes. Each is a signature to verify.
    public static let bundlesMax = 512
    /// Bytes of one bundle that its author pushes whole, so that an update arrives in one step; a message is at most 4
    /// MiB.
    public static let pushBytesMax = 3 << 20
    /// Connected peers and addresses named in one message.
    public static let peersMax = 512
    /// Addresses in one shuffle, the hops of a walk, and records of soft state named in one message.
    public static let shuffleMax = 16
    public static let hopsMax = 16
    public static let softNamesMax = 1024
    /// Bytes of a notice or a reason.
    public static let textMax = 200
    /// Bytes of a nonce of `verify`.
    public static let nonceBytes = 16
}

/// How much a node wants a link.
public enum NeighbourPriority: UInt64, Sendable, Equatable {
    /// It links to everybody.
    case everybody = 0
    /// It can do without, so who has links enough refuses.
    case low = 1
    /// It has no other link, or seeks somebody new: who has links enough lets another go.
    case high = 2
    /// It is new: its address is to be passed on.
    case join = 3
}

/// How a node is doing, in every HELLO, PING and PONG.
public struct Vitals: Sendable, Equatable {
    /// Raw clock in milliseconds since 1970, not corrected by anything learnt from others.
    public var clockMs: UInt64
    /// Whether the kernel says that the clock is synchronised.
    public var isSynchronised: Bool
    /// The greatest time applied.
    public var highWater: HLC
    public var root: DigestPrefix

    public init(clockMs: UInt64, isSynchronised: Bool, highWater: HLC, root: DigestPrefix) {
        self.clockMs = clockMs
        self.isSynchronised = isSynchronised
        self.highWater = highWater
        self.root = root
    }
}

/// A digest as it travels: the count, and the first 8 bytes of the sum.
public struct DigestPrefix: Sendable, Hashable {
    public let count: Int
    public let sum: UInt64

    public init(count: Int, sum: UInt64) {
        self.count = count
        self.sum = sum
    }

    public init(_ digest: BucketDigest) { self.init(count: digest.count, sum: digest.sum.prefix64) }
}

public struct ChildDigest: Sendable, Hashable {
    /// Index of the child bucket on its level.
    public let index: UInt64
    public let digest: DigestPrefix

    public init(index: UInt64, digest: DigestPrefix) {
        self.index = index
        self.digest = digest
    }
}

public struct PeerAddress: Sendable, Hashable {
    public let node: Bytes32
    /// `address:port` as text.
    public let address: String

    public init(node: Bytes32, address: String) {
        self.node = node
        self.address = address
    }
}

/// Soft state: signed, never stored, gone when its time is up.
public struct SoftRecord: Sendable, Hashable {
    /// A record's life may be at most this long.
    public static let ttlMsMax: UInt64 = 10 * 60 * 1000
    /// Names the record among all others of its time: the first 8 bytes of its signature.
    public var name: UInt64 { signature.prefix64 }

    /// Bytes of a record's value as CBOR: every node keeps it in memory for everybody.
    public static let valueBytesMax = 1024

    public let author: Bytes32
    /// The author's instance nonce: a restarted program is another instance.
    public let instance: UInt64
    public let path: Path
    public let hlc: HLC
    /// Milliseconds from the receiver's own receipt; 0 removes the record.
    public let ttlMs: UInt64
    public let value: Value
    public let signature: Signature

    public init(
        author: Bytes32, instance: UInt64, path: Path, hlc: HLC, ttlMs: UInt64, value: Value, signature: Signature
    ) {
        self.author = author
        self.instance = instance
        self.path = path
        self.hlc = hlc
        self.ttlMs = ttlMs
        self.value = value
        self.signature = signature
    }
}

/// Why bytes are no message.
public enum WireError: Error, Equatable, Sendable, CustomStringConvertible {
    case malformed
    case tooMany
    case badEntry(EntryError)

    public var description: String {
        switch self {
        case .malformed: "malformed message"
        case .tooMany: "more items than a message may have"
        case .badEntry(let error): error.description
        }
    }
}
