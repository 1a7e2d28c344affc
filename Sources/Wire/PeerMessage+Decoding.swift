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

private struct MessageReader {
    var cbor: CBORReader
    /// Entries that may still follow: a repeated path is a byte on the wire and a kilobyte in memory.
    var leavesLeft = Bundle.countMax

    init(_ cbor: CBORReader) { self.cbor = cbor }

    mutating func message(_ tag: UInt64) throws -> PeerMessage? {
        switch tag {
        case Tag.hello: return .hello(try vitals(), peers: try nodes())
        case Tag.compare: return .compare(try bucket(), try childDigests())
        case Tag.differ: return .differ(try bucket(), try differences())
        case Tag.list:
            let bucket = try bucket()
            if try cbor.peekType() == .null {
                try cbor.null()
                return .list(bucket, after: nil)
            }
            let after = try references()
            guard after.count == 1 else { throw WireError.malformed }
            return .list(bucket, after: after[0])
        case Tag.ids: return .ids(try bucket(), try references(), more: try cbor.bool())
        case Tag.want: return .want(try references())
        case Tag.bundles: return .bundles(try list(max: PeerMessage.bundlesMax) { try $0.bundle() })
        case Tag.gone: return .gone(try references())
        case Tag.have: return .have(try references())
        case Tag.soft: return .soft(try list(max: PeerMessage.peersMax) { try $0.soft() })
        case Tag.peers: return .peers(connected: try nodes(), addresses: try addresses())
        case Tag.ping: return .ping(try vitals())
        case Tag.pong: return .pong(try vitals())
        case Tag.verify: return .verify(nonce: try nonce())
        case Tag.verified:
            return .verified(nonce: try nonce(), answer: try nonce(), count: try count(), sum: try bytes32())
        case Tag.notice: return .notice(try text(PeerMessage.textMax))
        case Tag.goodbye: return .goodbye(try text(PeerMessage.textMax))
        default: return nil
        }
    }

    private mutating func list<Item>(max: Int, _ item: (inout MessageReader) throws -> Item) throws -> [Item] {
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

    private mutating func bytes32() throws -> Bytes32 {
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

    private mutating func signature() throws -> Signature {
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

    private mutating func childDigests() throws -> [ChildDigest] {
        // A bucket has at most 65,536 children, in the root; a message of 4 MiB bounds them too.
        try list(max: 1 << 16) { reader in
            try reader.cbor.array(of: 3)
            return ChildDigest(index: try reader.cbor.unsigned(), digest: try reader.digest())
        }
    }

    private mutating func differences() throws -> [ChildDifference] {
        var left = PeerMessage.referencesMax
        return try list(max: 1 << 16) { reader in
            try reader.cbor.array(of: 3)
            let index = try reader.cbor.unsigned()
            let count = try reader.count()
            guard try reader.cbor.peekType() != .null else {
                try reader.cbor.null()
                return ChildDifference(index: index, count: count, references: nil)
            }
            let references = try reader.references()
            guard references.count <= left else { throw WireError.tooMany }
            left -= references.count
            return ChildDifference(index: index, count: count, references: references)
        }
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

    private mutating func addresses() throws -> [PeerAddress] {
        try list(max: PeerMessage.peersMax) { reader in
            try reader.cbor.array(of: 2)
            return PeerAddress(node: try reader.bytes32(), address: try reader.text(100))
        }
    }

    private mutating func bundle() throws -> Bundle {
        try cbor.array(of: 5)
        let author = try bytes32()
        let count = try cbor.count(max: Bundle.countMax)
        let signature = try signature()
        var packed = try cbor.byteString()
        guard packed.count % 32 == 0, packed.count / 32 <= Bundle.countMax else { throw WireError.malformed }
        var omitted: [Bytes32] = []
        while let hash = Bytes32(packed.prefix(32)) {
            omitted.append(hash)
            packed = packed.dropFirst(32)
        }
        var previous: [Key] = []
        let leaves = try list(max: leavesLeft) { try $0.leaf(author, &previous) }
        leavesLeft -= leaves.count
        return Bundle(author: author, count: count, signature: signature, leaves: leaves, omitted: omitted)
    }

    private mutating func leaf(_ author: Bytes32, _ previous: inout [Key]) throws -> Bundle.Leaf {
        try cbor.array(of: 6)
        let index = try cbor.count(max: Bundle.countMax - 1)
        let kind = try cbor.unsigned()
        let shared = try cbor.count(max: previous.count)
        let rest = try cbor.array()
        guard shared + rest <= Path.depthMax else { throw WireError.malformed }
        var keys = Array(previous.prefix(shared))
        for _ in 0..<rest {
            guard let key = Key(stored: try cbor.text()) else { throw WireError.malformed }
            keys.append(key)
        }
        guard let path = Path(keys) else { throw WireError.malformed }
        previous = keys
        let hlc = try hlc()
        let value = try value(max: Entry.sizeMax)
        return Bundle.Leaf(
            index: index, entry: try Entry(path: path, hlc: hlc, author: author, value: value, kind: kind))
    }

    /// A value whose bytes are counted before anything is made of them.
    private mutating func value(max: Int) throws -> Value {
        var ahead = cbor
        guard try ahead.skip().count <= max else { throw WireError.tooMany }
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
