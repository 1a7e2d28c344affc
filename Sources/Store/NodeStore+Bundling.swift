public import Seal
public import Tree

extension NodeStore {
    /// Entries that one transaction makes leaves of a bundle: some ten milliseconds.
    public static var adoptionSlice: Int { 1000 }

    /// The stamps of the entries of a bundle, if exactly they are here and each is signed for itself.
    public func singles(of seal: BundleSeal) throws -> [Stamp]? {
        guard try !knows(seal) else { return nil }
        // One more than there may be: equal times may lie outside on both sides.
        let limit = Bundle.countMax * 2
        let found = try singles(of: seal.author, from: seal.first.hlc, through: seal.last.hlc, limit: limit)
        let stamps = found.filter { !($0 < seal.first) && !(seal.last < $0) }
        return seal.fits(stamps) ? stamps : nil
    }

    /// Adopts a bundle that its author has announced, if exactly its entries are here.
    public func adopt(_ seal: BundleSeal, workspace: Bytes32) throws -> Adoption {
        guard seal.verifies(workspace: workspace) else { return .forged }
        guard let stamps = try singles(of: seal) else { return .ignored }
        for start in stride(from: 0, to: stamps.count, by: Self.adoptionSlice) {
            try adopt(seal, stamps, slice: start..<min(start + Self.adoptionSlice, stamps.count))
        }
        return .adopted
    }
}

extension BundleHead {
    init(_ seal: BundleSeal) {
        self.init(root: seal.root, author: seal.author, count: seal.count, signature: seal.signature)
    }
}

extension DatabaseStore {
    public func singles(of author: Bytes32, from lower: HLC, through upper: HLC, limit: Int) throws -> [Stamp] {
        guard let number = try knownAuthor(author) else { return [] }
        return try statements.singles.all(
            .integer(number), column(lower), column(upper), .integer(max(0, limit))
        ) { Stamp(hlc: try hlc($0.integer(0)), author: author, id: try $0.id(1)) }
    }

    public func knows(_ seal: BundleSeal) throws -> Bool { try bundle(like: BundleHead(seal)) != nil }

    public func adopt(_ seal: BundleSeal, _ stamps: [Stamp], slice: Range<Int>) throws {
        try transaction {
            var merger = Merger(self, killsMax: 0)
            try merger.adopt(BundleHead(seal), stamps, slice)
            try merger.finish()
        }
    }

    func record(_ stamp: Stamp) throws -> Record? {
        try statements.recordOfStamp.first(
            column(stamp.hlc), .prefix(stamp.id.prefix64), .hashRest(stamp.id)
        ) { try record($0) }
    }

    func move(_ record: Record, toBundle id: Int64, leaf: Int) throws {
        try statements.moveToBundle.run(.integer(id), .integer(leaf), .integer(record.row))
    }
}

extension MemoryStore {
    public func singles(of author: Bytes32, from lower: HLC, through upper: HLC, limit: Int) -> [Stamp] {
        let first = timeIndex(lower, .zero)
        let found = timed[first..<max(first, timeIndex(after: upper))].lazy.filter { item in
            if item.isHeld || item.entry.author != author { return false }
            if case .single = item.proof { return true }
            return false
        }
        return found.prefix(max(0, limit)).map(\.entry.stamp)
    }

    public func knows(_ seal: BundleSeal) -> Bool { bundle(like: BundleHead(seal)) != nil }

    public func adopt(_ seal: BundleSeal, _ stamps: [Stamp], slice: Range<Int>) throws {
        var merger = Merger(self, killsMax: 0)
        try merger.adopt(BundleHead(seal), stamps, slice)
        try merger.finish()
    }

    func move(_ record: Record, toBundle id: Int64, leaf: Int) {
        let proof = Proof.leaf(bundle: id, index: leaf)
        if let index = index(of: record.stamp) { timed[index].proof = proof }
        let index = liveIndex(record.path)
        if index < live.count, live[index].entry.id == record.stamp.id { live[index].proof = proof }
        bundles[id]?.leaves[leaf] = record.stamp.id
    }
}
