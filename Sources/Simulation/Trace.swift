internal import Seal
internal import Tree
internal import Wire

/// A running hash of what happens in a simulation: equal for equal runs, and different after the first difference.
struct Trace {
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func mix(_ word: UInt64) {
        hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
        hash ^= hash >> 29
    }

    mutating func mix(_ number: Int) { mix(UInt64(bitPattern: Int64(number))) }

    mutating func mix(_ bytes: [UInt8]) {
        mix(bytes.count)
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if index & 7 == 7 { mix(word) }
        }
        mix(word)
    }

    mutating func mix(_ references: [EntryReference]) {
        mix(references.count)
        for reference in references { mix(reference.hlc.rawValue ^ reference.idPrefix) }
    }

    /// A message that nobody encodes: by what distinguishes it, for the kinds that are frequent.
    mutating func mix(_ message: PeerMessage) {
        switch message {
        case .bundles(let bundles):
            mix(7)
            for bundle in bundles { mix(bundle.leaves.map(\.entry.reference)) }
        case .have(let references):
            mix(9)
            mix(references)
        case .soft(let records):
            mix(10)
            for record in records { mix(record.author.prefix64 ^ record.hlc.rawValue) }
        case .ping(let vitals), .pong(let vitals):
            mix(12)
            mix(vitals.clockMs ^ vitals.root.sum)
        default: mix(message.encoded)
        }
    }
}
