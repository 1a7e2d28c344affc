internal import CBOR
internal import Seal
internal import Tree

extension PeerMessage {
    /// Reads a message; nil for a tag this version does not know.
    public static func decode(_ bytes: [UInt8]) throws(WireError) -> PeerMessage? {
        var reader = MessageReader(CBORReader(bytes))
        do {
            let count = try reader.cbor.array()
            guard count >= 1 else { throw WireError.malformed }
            let tag = try reader.cbor.unsigned()
            guard let fieldCount = Tag.fieldCounts[tag] else { return nil }
            guard count == fieldCount + 1, let message = try reader.message(tag) else { throw WireError.malformed }
            try reader.cbor.expectEnd()
            return message
        } catch let error as WireError {
            throw error
        } catch let error as EntryError {
            throw .badEntry(error)
        } catch {
            throw .malformed
        }
    }
}

/// Reads the fields of a message.
struct MessageReader {
    var cbor: CBORReader
    /// Entries that may still follow: a repeated path is a byte on the wire and a kilobyte in memory.
    var leavesLeft = Bundle.countMax

    init(_ cbor: CBORReader) { self.cbor = cbor }

    mutating func message(_ tag: UInt64) throws -> PeerMessage? {
        switch tag {
        case Tag.hello: return .hello(try vitals(), peers: try nodes())
        case Tag.compare:
            let bucket = try bucket()
            return .compare(bucket, try childDigests(bucket))
        case Tag.differ:
            let bucket = try bucket()
            var left = PeerMessage.summariesMax
            return .differ(bucket, try cbor.summaries(below: bucket, left: &left))
        case Tag.sift:
            let range = ReferenceRange(after: try reference(), through: try reference())
            return .sift(
                Sift(
                    range: range, salt: try cbor.salt(), bytesMax: try cbor.count(max: PeerMessage.siftBytesMax),
                    known: try cbor.fingerprints()))
        case Tag.sifted: return .sifted(through: try reference(), reached: try reference())
        case Tag.tail:
            return .tail(
                Tail(
                    path: try cbor.path(), count: try cbor.count(max: PeerMessage.tailMax), salt: try cbor.unsigned(),
                    known: try cbor.fingerprints()))
        case Tag.want: return .want(try references())
        case Tag.bundles: return .bundles(try bundles())
        case Tag.rebundle: return .rebundle(try bundleSeal())
        case Tag.gone: return .gone(try references())
        case Tag.have: return .have(try references())
        case Tag.soft: return .soft(try list(max: PeerMessage.peersMax) { try $0.soft() })
        case Tag.peers: return .peers(connected: try nodes(), addresses: try addresses())
        case Tag.ping: return .ping(try vitals())
        case Tag.pong: return .pong(try vitals())
        case Tag.verify: return .verify(nonce: try nonce())
        case Tag.verified: return .verified(nonce: try nonce(), answer: try nonce())
        case Tag.keyed: return .keyed(key: try bytes32(), try bucket())
        case Tag.keyedSums:
            let (key, bucket) = (try bytes32(), try bucket())
            var left = PeerMessage.summariesMax
            return .keyedSums(key: key, bucket, try cbor.summaries(below: bucket, left: &left))
        case Tag.notice: return .notice(try text(PeerMessage.textMax))
        case Tag.goodbye: return .goodbye(try text(PeerMessage.textMax))
        default: return try overlayMessage(tag)
        }
    }

    private mutating func overlayMessage(_ tag: UInt64) throws -> PeerMessage? {
        switch tag {
        case Tag.neighbour:
            guard let priority = NeighbourPriority(rawValue: try cbor.unsigned()) else { throw WireError.malformed }
            return .neighbour(priority, soft: try count())
        case Tag.disconnect: return .disconnect
        case Tag.forwardJoin: return .forwardJoin(try address(), hops: try cbor.count(max: PeerMessage.hopsMax))
        case Tag.shuffle:
            return .shuffle(
                origin: try bytes32(), hops: try cbor.count(max: PeerMessage.hopsMax),
                try list(max: PeerMessage.shuffleMax) { try $0.address() })
        case Tag.graft: return .graft(soft: try names())
        case Tag.prune: return .prune
        case Tag.haveSoft: return .haveSoft(try names())
        default: return try workspaceMessage(tag)
        }
    }

    mutating func list<Item>(max: Int, _ item: (inout MessageReader) throws -> Item) throws -> [Item] {
        let count = try cbor.array()
        guard count <= max else { throw WireError.tooMany }
        var items: [Item] = []
        for _ in 0..<count { items.append(try item(&self)) }
        return items
    }

    private mutating func text(_ max: Int) throws -> String {
        let text = try cbor.text()
        guard text.utf8.count <= max else { throw WireError.tooMany }
        return text
    }

    private mutating func count() throws -> Int { try cbor.count(max: 1 << 40) }

    mutating func bytes32() throws -> Bytes32 {
        guard let bytes = Bytes32(try cbor.byteString()) else { throw WireError.malformed }
        return bytes
    }

    private mutating func nonce() throws -> [UInt8] {
        let nonce = try cbor.byteString()
        guard nonce.count == PeerMessage.nonceBytes else { throw WireError.malformed }
        return Array(nonce)
    }

    private mutating func hlc() throws -> HLC {
        guard let hlc = HLC(rawValue: try cbor.unsigned()) else { throw WireError.malformed }
        return hlc
    }

    mutating func signature() throws -> Signature {
        guard let signature = Signature(try cbor.byteString()) else { throw WireError.malformed }
        return signature
    }

    private mutating func vitals() throws -> Vitals {
        try cbor.array(of: 5)
        return Vitals(
            clockMs: try cbor.unsigned(), isSynchronised: try cbor.bool(), highWater: try hlc(), root: try digest())
    }

    private mutating func digest() throws -> DigestPrefix {
        DigestPrefix(count: try count(), sum: try cbor.unsigned())
    }

    private mutating func nodes() throws -> [Bytes32] { try list(max: PeerMessage.peersMax) { try $0.bytes32() } }

    private mutating func bucket() throws -> TimeBucket {
        try cbor.array(of: 2)
        guard let bucket = TimeBucket(level: try cbor.count(max: TimeBucket.levelMax), index: try cbor.unsigned())
        else { throw WireError.malformed }
        return bucket
    }

    private mutating func childDigests(_ bucket: TimeBucket) throws -> [ChildDigest] {
        // A bucket has at most 65,536 children, in the root; a message of 4 MiB bounds them too.
        try list(max: 1 << 16) { reader in
            try reader.cbor.array(of: 3)
            let (index, overflows) = bucket.firstChildIndex.addingReportingOverflow(try reader.cbor.unsigned())
            guard !overflows else { throw WireError.malformed }
            return ChildDigest(index: index, digest: try reader.digest())
        }
    }

    private mutating func reference() throws -> EntryReference {
        let list = try references()
        guard list.count == 1 else { throw WireError.malformed }
        return list[0]
    }

    private mutating func references() throws -> [EntryReference] {
        var packed = try cbor.byteString()
        guard packed.count % 16 == 0 else { throw WireError.malformed }
        guard packed.count / 16 <= PeerMessage.referencesMax else { throw WireError.tooMany }
        var list: [EntryReference] = []
        list.reserveCapacity(packed.count / 16)
        while !packed.isEmpty {
            let time = packed.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let prefix = packed.dropFirst(8).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard let hlc = HLC(rawValue: time) else { throw WireError.malformed }
            list.append(EntryReference(hlc: hlc, idPrefix: prefix))
            packed = packed.dropFirst(16)
        }
        return list
    }

    private mutating func names() throws -> [UInt64] {
        let packed = try cbor.byteString()
        guard packed.count % 8 == 0 else { throw WireError.malformed }
        guard packed.count / 8 <= PeerMessage.softNamesMax else { throw WireError.tooMany }
        var names: [UInt64] = []
        var word: UInt64 = 0
        for (index, byte) in packed.enumerated() {
            word = word << 8 | UInt64(byte)
            if index % 8 == 7 { names.append(word) }
        }
        return names
    }

    private mutating func address() throws -> PeerAddress {
        try cbor.array(of: 2)
        return PeerAddress(node: try bytes32(), address: try text(100))
    }

    private mutating func addresses() throws -> [PeerAddress] {
        try list(max: PeerMessage.peersMax) { try $0.address() }
    }

    private mutating func bundleSeal() throws -> BundleSeal {
        let author = try bytes32()
        let first = Stamp(hlc: try hlc(), author: author, id: try bytes32())
        let last = Stamp(hlc: try hlc(), author: author, id: try bytes32())
        return BundleSeal(
            first: first, last: last, count: try cbor.count(max: Bundle.countMax), root: try bytes32(),
            signature: try signature())
    }

    /// A value whose bytes are counted before anything is made of them.
    mutating func value(max: Int) throws -> Value {
        if cbor.remainingCount > max {
            var ahead = cbor
            guard try ahead.skip().count <= max else { throw WireError.tooMany }
        }
        return try Value(from: &cbor)
    }

    private mutating func soft() throws -> SoftRecord {
        try cbor.array(of: 7)
        let author = try bytes32()
        let instance = try cbor.unsigned()
        var keys: [Key] = []
        let depth = try cbor.array()
        guard depth <= Path.depthMax else { throw WireError.malformed }
        for _ in 0..<depth {
            guard let key = Key(try cbor.text()) else { throw WireError.malformed }
            keys.append(key)
        }
        guard let path = Path(keys) else { throw WireError.malformed }
        return SoftRecord(
            author: author, instance: instance, path: path, hlc: try hlc(), ttlMs: try cbor.unsigned(),
            value: try value(max: SoftRecord.valueBytesMax), signature: try signature())
    }
}
