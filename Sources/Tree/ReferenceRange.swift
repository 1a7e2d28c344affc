/// A stretch of the entries in the order of time and id: behind one reference, up to another one and with it.
public struct ReferenceRange: Sendable, Hashable {
    public let after: EntryReference
    public let through: EntryReference

    public init(after: EntryReference, through: EntryReference) {
        self.after = after
        self.through = through
    }

    /// All entries of a bucket.
    public init(_ bucket: TimeBucket) {
        after = EntryReference(hlc: bucket.lowerBound, idPrefix: 0).predecessor
        through = EntryReference(hlc: bucket.upperBound, idPrefix: .max)
    }

    public var isEmpty: Bool { !(after < through) }

    public func contains(_ reference: EntryReference) -> Bool { after < reference && !(through < reference) }

    public func overlaps(_ other: ReferenceRange) -> Bool { after < other.through && other.after < through }
}

extension EntryReference {
    /// The greatest reference before this one; of the least, itself.
    public var predecessor: EntryReference {
        if idPrefix > 0 { return EntryReference(hlc: hlc, idPrefix: idPrefix - 1) }
        if hlc.counter > 0 {
            return EntryReference(hlc: HLC(ms: hlc.ms, counter: hlc.counter - 1), idPrefix: .max)
        }
        guard hlc.ms > 0 else { return self }
        return EntryReference(hlc: HLC(ms: hlc.ms - 1, counter: HLC.counterMax), idPrefix: .max)
    }
}
