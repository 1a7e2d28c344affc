internal import Tree
internal import Wire

/// What a peer has asked for and has not got yet.
struct Debt: Sendable {
    /// References a peer may ask for before it has got them; an honest one keeps to ``Reconciler/wantsMax``.
    static let referencesMax = 8192
    /// Ranges a peer may ask for before it has got them; an honest one keeps to ``Reconciler/siftsMax``.
    static let siftsMax = 2 * Reconciler.siftsMax
    /// Fingerprints kept for one peer: four bytes each.
    static let fingerprintsMax = siftsMax * Reconciler.namedMax

    /// A range and how much of it is left.
    struct Owed: Sendable {
        let sift: Sift
        var through: EntryReference
        var bytes: Int
    }

    /// Oldest first.
    private(set) var references: [EntryReference] = []
    private(set) var sifts: [Owed] = []
    private var fingerprints = 0

    /// References and fingerprints that are kept.
    var count: Int { references.count + fingerprints }
    var isEmpty: Bool { references.isEmpty && sifts.isEmpty }

    /// False if that is more than anybody may ask for.
    mutating func add(_ wanted: [EntryReference]) -> Bool {
        guard references.count + wanted.count <= Debt.referencesMax else { return false }
        references += wanted
        return true
    }

    /// What somebody waits for in front of a screen; as much of it as there is room for.
    mutating func addFirst(_ wanted: [EntryReference]) {
        references.insert(contentsOf: wanted.prefix(max(0, Debt.referencesMax - references.count)), at: 0)
    }

    /// False if that is more than anybody may ask for.
    mutating func add(_ sift: Sift) -> Bool {
        guard sifts.count < Debt.siftsMax, fingerprints + sift.known.count <= Debt.fingerprintsMax else { return false }
        fingerprints += sift.known.count
        sifts.append(Owed(sift: sift, through: sift.range.through, bytes: sift.bytesMax))
        return true
    }

    mutating func pay(references count: Int) { references.removeFirst(min(count, references.count)) }

    /// The first range has been looked through down to a reference, which is next.
    mutating func pay(downTo through: EntryReference, bytes: Int) {
        guard !sifts.isEmpty else { return }
        sifts[0].through = through
        sifts[0].bytes -= min(bytes, sifts[0].bytes)
    }

    /// The first range is done with.
    mutating func finishSift() {
        guard let first = sifts.first else { return }
        fingerprints -= first.sift.known.count
        sifts.removeFirst()
    }
}
