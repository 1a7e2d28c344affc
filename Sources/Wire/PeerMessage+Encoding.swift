internal import CBOR
internal import Seal
public import Tree

enum Tag {
    static let hello: UInt64 = 1
    static let compare: UInt64 = 2
    static let differ: UInt64 = 3
    static let list: UInt64 = 4
    static let ids: UInt64 = 5
    static let want: UInt64 = 6
    static let bundles: UInt64 = 7
    static let gone: UInt64 = 8
    static let have: UInt64 = 9
    static let soft: UInt64 = 10
    static let peers: UInt64 = 11
    static let ping: UInt64 = 12
    static let pong: UInt64 = 13
    static let verify: UInt64 = 14
    static let verified: UInt64 = 15
    static let notice: UInt64 = 16
    static let goodbye: UInt64 = 17

    /// Fields after the tag; a message with more or fewer is none of this version.
    static let fieldCounts: [UInt64: Int] = [
        hello: 2, compare: 2, differ: 2, list: 2, ids: 3, want: 1, bundles: 1, gone: 1, have: 1, soft: 1, peers: 2,
        ping: 1, pong: 1, verify: 1, verified: 4, notice: 1, goodbye: 1,
    ]
}

extension PeerMessage {
    /// The message as deterministic CBOR.
    public var encoded: [UInt8] {
        var writer = CBORWriter(reserving: 256)
        switch self {
        case .hello(let vitals, let peers):
            writer.begin(Tag.hello, 2)
            writer.vitals(vitals)
            writer.nodes(peers)
        case .compare(let bucket, let children):
            writer.begin(Tag.compare, 2)
            writer.bucket(bucket)
            writer.array(children.count)
            for child in children {
                writer.array(3)
                writer.unsigned(child.index)
                writer.digest(child.digest)
            }
        case .differ(let bucket, let children):
            writer.begin(Tag.differ, 2)
            writer.bucket(bucket)
            writer.differences(children)
        case .list(let bucket, let after):
            writer.begin(Tag.list, 2)
            writer.bucket(bucket)
            if let after { writer.references([after]) } else { writer.null() }
        case .ids(let bucket, let references, let more):
            writer.begin(Tag.ids, 3)
            writer.bucket(bucket)
            writer.references(references)
            writer.bool(more)
        case .want(let references): writer.referencesMessage(Tag.want, references)
        case .gone(let references): writer.referencesMessage(Tag.gone, references)
        case .have(let references): writer.referencesMessage(Tag.have, references)
        case .bundles(let bundles):
            writer.begin(Tag.bundles, 1)
            writer.array(bundles.count)
            for bundle in bundles { writer.bundle(bundle) }
        case .soft(let records):
            writer.begin(Tag.soft, 1)
            writer.array(records.count)
            for record in records { writer.soft(record) }
        case .peers(let connected, let addresses):
            writer.begin(Tag.peers, 2)
            writer.nodes(connected)
            writer.array(addresses.count)
            for address in addresses {
                writer.array(2)
                writer.byteString(address.node.bytes)
                writer.text(address.address)
            }
        case .ping(let vitals):
            writer.begin(Tag.ping, 1)
            writer.vitals(vitals)
        case .pong(let vitals):
            writer.begin(Tag.pong, 1)
            writer.vitals(vitals)
        case .verify(let nonce):
            writer.begin(Tag.verify, 1)
            writer.byteString(nonce)
        case .verified(let nonce, let answer, let count, let sum):
            writer.begin(Tag.verified, 4)
            writer.byteString(nonce)
            writer.byteString(answer)
            writer.unsigned(UInt64(clamping: count))
            writer.byteString(sum.bytes)
        case .notice(let text):
            writer.begin(Tag.notice, 1)
            writer.text(text)
        case .goodbye(let text):
            writer.begin(Tag.goodbye, 1)
            writer.text(text)
        }
        return writer.bytes
    }
}

extension CBORWriter {
    fileprivate mutating func begin(_ tag: UInt64, _ fields: Int) {
        array(fields + 1)
        unsigned(tag)
    }

    fileprivate mutating func vitals(_ vitals: Vitals) {
        array(5)
        unsigned(vitals.clockMs)
        bool(vitals.isSynchronised)
        unsigned(vitals.highWater.rawValue)
        digest(vitals.root)
    }

    fileprivate mutating func digest(_ digest: DigestPrefix) {
        unsigned(UInt64(clamping: digest.count))
        unsigned(digest.sum)
    }

    fileprivate mutating func nodes(_ nodes: [Bytes32]) {
        array(nodes.count)
        for node in nodes { byteString(node.bytes) }
    }

    fileprivate mutating func bucket(_ bucket: TimeBucket) {
        array(2)
        unsigned(UInt64(clamping: bucket.level))
        unsigned(bucket.index)
    }

    fileprivate mutating func differences(_ children: [ChildDifference]) {
        array(children.count)
        for child in children {
            array(3)
            unsigned(child.index)
            unsigned(UInt64(clamping: child.count))
            if let found = child.references { references(found) } else { null() }
        }
    }

    fileprivate mutating func referencesMessage(_ tag: UInt64, _ list: [EntryReference]) {
        begin(tag, 1)
        references(list)
    }

    /// 16 bytes each, packed: a list of a thousand needs no thousand heads.
    fileprivate mutating func references(_ list: [EntryReference]) {
        var packed: [UInt8] = []
        packed.reserveCapacity(list.count * 16)
        for reference in list {
            for word in [reference.hlc.rawValue, reference.idPrefix] {
                for shift in stride(from: UInt64(56), through: 0, by: -8) {
                    packed.append(UInt8(truncatingIfNeeded: word >> shift))
                }
            }
        }
        byteString(packed)
    }

    /// The author stands once, and each entry's path names only what differs from the path before it.
    fileprivate mutating func bundle(_ bundle: Bundle) {
        array(5)
        byteString(bundle.author.bytes)
        unsigned(UInt64(clamping: bundle.count))
        byteString(bundle.signature.bytes)
        var hashes: [UInt8] = []
        for hash in bundle.omitted { hash.append(to: &hashes) }
        byteString(hashes)
        array(bundle.leaves.count)
        var previous: [Key] = []
        for leaf in bundle.leaves {
            let keys = leaf.entry.path.keys
            let shared = zip(previous, keys).prefix { $0 == $1 }.count
            array(6)
            unsigned(UInt64(clamping: leaf.index))
            unsigned(leaf.entry.kind)
            unsigned(UInt64(shared))
            array(keys.count - shared)
            for key in keys[shared...] { text(key.text) }
            unsigned(leaf.entry.hlc.rawValue)
            leaf.entry.value.encode(to: &self)
            previous = keys
        }
    }

    fileprivate mutating func soft(_ record: SoftRecord) {
        array(7)
        byteString(record.author.bytes)
        unsigned(record.instance)
        array(record.path.depth)
        for key in record.path.keys { text(key.text) }
        unsigned(record.hlc.rawValue)
        unsigned(record.ttlMs)
        record.value.encode(to: &self)
        byteString(record.signature.bytes)
    }
}

extension Bundle {
    /// Bytes the bundle takes in a message, roughly: enough to fill messages to their bound.
    public var approximateWireSize: Int {
        leaves.reduce(120 + omitted.count * 32) { $0 + Bundle.approximateWireSize($1.entry) }
    }

    /// The part that one entry takes.
    public static func approximateWireSize(_ entry: Entry) -> Int { entry.encoded.count + 16 }
}
