public import Seal
public import Tree

/// What one node tells another over an established link. Deterministic CBOR arrays that begin with an integer tag;
/// unknown tags are ignored, so that versions can add messages.
public enum PeerMessage: Sendable, Equatable {
    /// The first message of both sides.
    case hello(Vitals, peers: [Bytes32])
    /// Asks which children of a bucket differ from the asker's, whose digests are given.
    case compare(TimeBucket, [ChildDigest])
    /// Answers `compare`: the children that differ and are not empty here.
    case differ(TimeBucket, [ChildDifference])
    /// Asks for the references in a bucket, from `after` on.
    case list(TimeBucket, after: EntryReference?)
    /// Answers `list`; `more` means that the list goes on after its last reference.
    case ids(TimeBucket, [EntryReference], more: Bool)
    /// Asks for entries. Every one is answered, in `bundles` or in `gone`.
    case want([EntryReference])
    /// Signed entries: asked for, or pushed by their author or his neighbours.
    case bundles([Bundle])
    /// Entries asked for that are not here (any more).
    case gone([EntryReference])
    /// Offers entries that have just arrived.
    case have([EntryReference])
    case soft([SoftRecord])
    /// Who else is connected to the sender, and addresses of nodes on this network.
    case peers(connected: [Bytes32], addresses: [PeerAddress])
    case ping(Vitals)
    case pong(Vitals)
    /// Asks for the keyed sum of all ids under both sides' nonces.
    case verify(nonce: [UInt8])
    /// Answers `verify` with the answerer's own nonce.
    case verified(nonce: [UInt8], answer: [UInt8], count: Int, sum: Bytes32)
    /// A refusal, for the other side's status.
    case notice(String)
    /// The end of the link, said on purpose: a cut is told from an end.
    case goodbye(String)

    /// References in one message; 64 KiB of them.
    public static let referencesMax = 4096
    /// Bytes of bundles in one message, unless a single entry is larger.
    public static let bundleBytesMax = 64 * 1024
    /// Bytes of one bundle that its author pushes whole, so that an update arrives in one step; a message is at most 4
    /// MiB.
    public static let pushBytesMax = 3 << 20
    /// Connected peers and addresses named in one message.
    public static let peersMax = 512
    /// Bytes of a notice or a reason.
    public static let textMax = 200
    /// Bytes of a nonce of `verify`.
    public static let nonceBytes = 16
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

public struct ChildDifference: Sendable, Hashable {
    public let index: UInt64
    /// Entries the answerer has there.
    public let count: Int
    /// All of them, where they are few; nil otherwise.
    public let references: [EntryReference]?

    public init(index: UInt64, count: Int, references: [EntryReference]?) {
        self.index = index
        self.count = count
        self.references = references
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
