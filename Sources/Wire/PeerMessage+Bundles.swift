internal import CBOR
internal import Seal
public import Tree

extension PeerMessage {
    /// Whether bytes begin as a message of bundles does: the one kind that takes long to read and to verify.
    public static func isBundles(_ bytes: [UInt8]) -> Bool {
        bytes.count > 2 && bytes[0] == 0x82 && UInt64(bytes[1]) == Tag.bundles
    }
}

// MARK: Writing

extension CBORWriter {
    /// What stands in one bundle is not said again in those after it.
    mutating func bundles(_ bundles: [Bundle]) {
        var context = BundleContext()
        array(bundles.count)
        for bundle in bundles { self.bundle(bundle, &context) }
    }

    private mutating func bundle(_ bundle: Bundle, _ context: inout BundleContext) {
        array(5)
        if let number = context.number(of: bundle.author) {
            unsigned(UInt64(clamping: number))
        } else {
            byteString(bundle.author.bytes)
            context.meet(bundle.author)
        }
        unsigned(UInt64(clamping: bundle.count))
        byteString(bundle.signature.bytes)
        var hashes: [UInt8] = []
        hashes.reserveCapacity(bundle.omitted.count * 32)
        for hash in bundle.omitted { hash.append(to: &hashes) }
        byteString(hashes)
        array(bundle.leaves.count)
        var index = 0
        for leaf in bundle.leaves {
            self.leaf(leaf, after: index, &context)
            index = leaf.index &+ 1
        }
    }

    private mutating func leaf(_ leaf: Bundle.Leaf, after index: Int, _ context: inout BundleContext) {
        let entry = leaf.entry
        let keys = entry.path.keys
        let message = SpokenMessage(entry)
        var parts: BundleContext.Parts = []
        if leaf.index != index { parts.insert(.index) }
        if entry.kind != Entry.set { parts.insert(.kind) }
        if !keys.dropLast().elementsEqual(context.parent) { parts.insert(.parent) }
        if !AutoID.spells(keys.last?.text ?? "", hlc: entry.hlc, author: entry.author) { parts.insert(.key) }
        if let message {
            if context.nameItem(of: entry.author) != message.name { parts.insert(.name) }
            if message.children != nil { parts.insert(.children) }
        } else {
            parts.insert(.value)
        }
        array(parts.itemCount)
        unsigned(parts.rawValue)
        if parts.contains(.index) { unsigned(UInt64(clamping: leaf.index)) }
        if parts.contains(.kind) { unsigned(entry.kind) }
        if parts.contains(.parent) { self.parent(Array(keys.dropLast()), &context) }
        if parts.contains(.key) { text(keys.last?.text ?? "") }
        integer(Int64(clamping: entry.hlc.ms) &- Int64(clamping: context.ms))
        unsigned(entry.hlc.counter)
        if let message {
            if parts.contains(.name) { raw(message.name) }
            context.use(message.name, by: entry.author)
            if let children = message.children { children.encode(to: &self) } else { raw(message.text) }
        } else {
            entry.value.encode(to: &self)
        }
        context.ms = entry.hlc.ms
    }

    /// The number of one that has stood in the message, or how many keys it has in common with the one before, and the
    /// others.
    private mutating func parent(_ parent: [Key], _ context: inout BundleContext) {
        if let number = context.number(ofParent: parent) {
            unsigned(UInt64(clamping: number))
        } else {
            let shared = zip(context.parent, parent).prefix { $0 == $1 }.count
            array(1 + parent.count - shared)
            unsigned(UInt64(clamping: shared))
            for key in parent[shared...] { text(key.text) }
        }
        context.enter(parent)
    }
}

/// What has to be said of a message.
private struct SpokenMessage {
    /// CBOR text items; the text is empty where there are other children.
    let name: ArraySlice<UInt8>
    let text: ArraySlice<UInt8>
    let children: Value?

    init?(_ entry: Entry) {
        if let plain = PlainMessage(entry) {
            (name, text, children) = (plain.name, plain.text, nil)
            return
        }
        guard let fields = MessageFields(entry) else { return nil }
        var writer = CBORWriter()
        writer.text(fields.name)
        (name, text) = (writer.bytes[...], [])
        children = Value.object(ObjectValue(fields.rest.map { ($0.key, $0.value) }))
    }
}

extension Bundle {
    /// Bytes the bundle takes in a message, roughly: enough to fill messages to their bound.
    public var approximateWireSize: Int {
        leaves.reduce(120 + omitted.count * 32) { $0 + Bundle.approximateWireSize($1.entry) }
    }

    /// Bytes the bundle takes in a message at most: what no message that is to be sent may exceed.
    public var wireSizeMax: Int { leaves.reduce(120 + omitted.count * 32) { $0 + $1.entry.transferSizeMax } }

    /// The part that one entry takes.
    public static func approximateWireSize(_ entry: Entry) -> Int { entry.transferSize }
}

// MARK: Reading

extension MessageReader {
    mutating func bundles() throws -> [Bundle] {
        var context = BundleContext()
        return try list(max: PeerMessage.bundlesMax) { try $0.bundle(&context) }
    }

    private mutating func bundle(_ context: inout BundleContext) throws -> Bundle {
        try cbor.array(of: 5)
        let author = try author(&context)
        let count = try cbor.count(max: Bundle.countMax)
        let signature = try signature()
        var packed = try cbor.byteString()
        guard packed.count % 32 == 0, packed.count / 32 <= Bundle.countMax else { throw WireError.malformed }
        var omitted: [Bytes32] = []
        while let hash = Bytes32(packed.prefix(32)) {
            omitted.append(hash)
            packed = packed.dropFirst(32)
        }
        var index = 0
        let leaves = try list(max: leavesLeft) { reader in
            let leaf = try reader.leaf(author, after: index, &context)
            index = leaf.index + 1
            return leaf
        }
        leavesLeft -= leaves.count
        return Bundle(author: author, count: count, signature: signature, leaves: leaves, omitted: omitted)
    }

    private mutating func author(_ context: inout BundleContext) throws -> Bytes32 {
        if try cbor.peekType() == .unsigned {
            let number = try cbor.count(max: PeerMessage.bundlesMax)
            guard number < context.authors.count else { throw WireError.malformed }
            return context.authors[number]
        }
        let author = try bytes32()
        guard context.number(of: author) == nil else { throw WireError.malformed }
        context.meet(author)
        return author
    }

    private mutating func leaf(
        _ author: Bytes32, after index: Int, _ context: inout BundleContext
    ) throws -> Bundle.Leaf {
        let items = try cbor.array()
        let parts = BundleContext.Parts(rawValue: try cbor.unsigned())
        guard parts.isSubset(of: .all), items == parts.itemCount else { throw WireError.malformed }
        let index = parts.contains(.index) ? try cbor.count(max: Bundle.countMax - 1) : index
        guard index < Bundle.countMax else { throw WireError.malformed }
        let kind = parts.contains(.kind) ? try cbor.unsigned() : Entry.set
        if parts.contains(.parent) { try parent(&context) }
        let written = parts.contains(.key) ? try key() : nil
        let hlc = try time(after: context.ms)
        guard let last = written ?? BundleContext.impliedKey(hlc, author), let path = Path(context.parent + [last])
        else { throw WireError.malformed }
        let value = try leafValue(parts, hlc, author, &context)
        context.ms = hlc.ms
        return Bundle.Leaf(
            index: index, entry: try Entry(path: path, hlc: hlc, author: author, value: value, kind: kind))
    }

    private mutating func parent(_ context: inout BundleContext) throws {
        if try cbor.peekType() == .unsigned {
            let number = try cbor.count(max: Bundle.countMax)
            guard number < context.parents.count else { throw WireError.malformed }
            return context.enter(context.parents[number])
        }
        let items = try cbor.array()
        let shared = try cbor.count(max: context.parent.count)
        guard items >= 1, shared + items - 1 < Path.depthMax else { throw WireError.malformed }
        var keys = Array(context.parent.prefix(shared))
        for _ in 1..<items { keys.append(try key()) }
        context.enter(keys)
    }

    private mutating func key() throws -> Key {
        guard let key = Key(stored: try cbor.text()) else { throw WireError.malformed }
        return key
    }

    private mutating func time(after before: UInt64) throws -> HLC {
        let (ms, overflows) = Int64(clamping: before).addingReportingOverflow(try cbor.integer())
        let counter = try cbor.count(max: Int(HLC.counterMax))
        guard !overflows, ms >= 0, UInt64(ms) <= HLC.msMax else { throw WireError.malformed }
        return HLC(ms: UInt64(ms), counter: UInt64(counter))
    }

    private mutating func leafValue(
        _ parts: BundleContext.Parts, _ hlc: HLC, _ author: Bytes32, _ context: inout BundleContext
    ) throws -> Value {
        if parts.contains(.value) {
            guard !parts.contains(.name), !parts.contains(.children) else { throw WireError.malformed }
            return try value(max: Entry.sizeMax)
        }
        guard let name = parts.contains(.name) ? try cbor.text() : context.name(of: author) else {
            throw WireError.malformed
        }
        context.use(name, by: author)
        var rest: [(Key, Value)] = []
        if parts.contains(.children) {
            guard case .object(let object) = try value(max: Entry.sizeMax) else { throw WireError.malformed }
            rest = object.children.map { ($0.key, $0.value) }
        } else if let key = MessageFields.text {
            rest = [(key, .string(try cbor.text()))]
        }
        guard let value = MessageFields.value(rest, name: name, hlc, author) else { throw WireError.malformed }
        return value
    }
}
