internal import CBOR
internal import Seal
internal import Tree

enum Tag {
    static let hello: UInt64 = 1
    static let compare: UInt64 = 2
    static let differ: UInt64 = 3
    static let sift: UInt64 = 4
    static let sifted: UInt64 = 5
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
    static let rebundle: UInt64 = 30
    static let tail: UInt64 = 18
    static let keyed: UInt64 = 19
    static let keyedSums: UInt64 = 20
    static let neighbour: UInt64 = 23
    static let disconnect: UInt64 = 24
    static let forwardJoin: UInt64 = 25
    static let shuffle: UInt64 = 26
    static let graft: UInt64 = 27
    static let prune: UInt64 = 28
    static let haveSoft: UInt64 = 29
    static let epoch: UInt64 = 40
    static let outdated: UInt64 = 41

    /// Fields after the tag; a message with more or fewer is none of this version.
    static let fieldCounts: [UInt64: Int] = [
        hello: 2, compare: 2, differ: 2, sift: 5, sifted: 2, want: 1, bundles: 1, gone: 1, have: 1, soft: 1, peers: 2,
        ping: 1, pong: 1, verify: 1, verified: 2, notice: 1, goodbye: 1, tail: 4, rebundle: 8, neighbour: 2,
        disconnect: 0, forwardJoin: 2, shuffle: 3, graft: 1, prune: 0, haveSoft: 1, keyed: 2, keyedSums: 3,
        epoch: 4, outdated: 0,
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
                writer.unsigned(child.index &- bucket.firstChildIndex)
                writer.digest(child.digest)
            }
        case .differ(let bucket, let summaries):
            writer.begin(Tag.differ, 2)
            writer.bucket(bucket)
            writer.summaries(summaries, below: bucket)
        case .sift(let sift):
            writer.begin(Tag.sift, 5)
            writer.references([sift.range.after])
            writer.references([sift.range.through])
            writer.salt(sift.salt)
            writer.unsigned(UInt64(clamping: sift.bytesMax))
            writer.fingerprints(sift.known)
        case .sifted(let through, let reached):
            writer.begin(Tag.sifted, 2)
            writer.references([through])
            writer.references([reached])
        case .tail(let tail):
            writer.begin(Tag.tail, 4)
            writer.path(tail.path)
            writer.unsigned(UInt64(clamping: tail.count))
            writer.unsigned(tail.salt)
            writer.fingerprints(tail.known)
        case .want(let references): writer.referencesMessage(Tag.want, references)
        case .gone(let references): writer.referencesMessage(Tag.gone, references)
        case .have(let references): writer.referencesMessage(Tag.have, references)
        case .bundles(let bundles):
            writer.begin(Tag.bundles, 1)
            writer.bundles(bundles)
        case .rebundle(let seal):
            writer.begin(Tag.rebundle, 8)
            writer.bundleSeal(seal)
        case .soft(let records):
            writer.begin(Tag.soft, 1)
            writer.array(records.count)
            for record in records { writer.soft(record) }
        case .peers(let connected, let addresses):
            writer.begin(Tag.peers, 2)
            writer.nodes(connected)
            writer.addresses(addresses)
        case .ping(let vitals):
            writer.begin(Tag.ping, 1)
            writer.vitals(vitals)
        case .pong(let vitals):
            writer.begin(Tag.pong, 1)
            writer.vitals(vitals)
        case .verify(let nonce):
            writer.begin(Tag.verify, 1)
            writer.byteString(nonce)
        case .verified(let nonce, let answer):
            writer.begin(Tag.verified, 2)
            writer.byteString(nonce)
            writer.byteString(answer)
        case .keyed(let key, let bucket):
            writer.begin(Tag.keyed, 2)
            writer.byteString(key.bytes)
            writer.bucket(bucket)
        case .keyedSums(let key, let bucket, let summaries):
            writer.begin(Tag.keyedSums, 3)
            writer.byteString(key.bytes)
            writer.bucket(bucket)
            writer.summaries(summaries, below: bucket)
        case .notice(let text):
            writer.begin(Tag.notice, 1)
            writer.text(text)
        case .goodbye(let text):
            writer.begin(Tag.goodbye, 1)
            writer.text(text)
        case .neighbour, .disconnect, .forwardJoin, .shuffle, .graft, .prune, .haveSoft: encodeOverlay(to: &writer)
        case .epoch, .outdated: encodeWorkspace(to: &writer)
        }
        return writer.bytes
    }

    private func encodeOverlay(to writer: inout CBORWriter) {
        switch self {
        case .neighbour(let priority, let soft):
            writer.begin(Tag.neighbour, 2)
            writer.unsigned(priority.rawValue)
            writer.unsigned(UInt64(clamping: soft))
        case .disconnect: writer.begin(Tag.disconnect, 0)
        case .forwardJoin(let newcomer, let hops):
            writer.begin(Tag.forwardJoin, 2)
            writer.address(newcomer)
            writer.unsigned(UInt64(clamping: hops))
        case .shuffle(let origin, let hops, let list):
            writer.begin(Tag.shuffle, 3)
            writer.byteString(origin.bytes)
            writer.unsigned(UInt64(clamping: hops))
            writer.addresses(list)
        case .graft(let names):
            writer.begin(Tag.graft, 1)
            writer.names(names)
        case .prune: writer.begin(Tag.prune, 0)
        case .haveSoft(let names):
            writer.begin(Tag.haveSoft, 1)
            writer.names(names)
        default: return
        }
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

    fileprivate mutating func address(_ address: PeerAddress) {
        array(2)
        byteString(address.node.bytes)
        text(address.address)
    }

    fileprivate mutating func addresses(_ list: [PeerAddress]) {
        array(list.count)
        for item in list { address(item) }
    }

    /// 8 bytes each, packed.
    fileprivate mutating func names(_ list: [UInt64]) {
        byteString(list.flatMap { CBORWriter.bytes($0) })
    }

    private static func bytes(_ word: UInt64) -> [UInt8] {
        stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }

    fileprivate mutating func bucket(_ bucket: TimeBucket) {
        array(2)
        unsigned(UInt64(clamping: bucket.level))
        unsigned(bucket.index)
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

    fileprivate mutating func bundleSeal(_ seal: BundleSeal) {
        byteString(seal.author.bytes)
        for stamp in [seal.first, seal.last] {
            unsigned(stamp.hlc.rawValue)
            byteString(stamp.id.bytes)
        }
        unsigned(UInt64(clamping: seal.count))
        byteString(seal.root.bytes)
        byteString(seal.signature.bytes)
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
