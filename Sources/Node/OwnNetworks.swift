internal import Net

/// The networks that an open workspace lives on.
struct OwnNetworks: Sendable, Equatable {
    /// Networks kept; the oldest one gives way.
    static let placesMax = 16

    enum Verdict: Equatable {
        /// Nothing is known yet, or this is one of them.
        case own
        /// This machine is on none at all.
        case nowhere
        case another
        /// It has no name, as every network for the first seconds, and none of those is known.
        case nameless
        /// It looks like one of them, but who its gateway is has not turned out yet.
        case unsure
    }

    private(set) var places: [NetworkPlace] = []

    /// Judges where this machine is. Where a network leads out, the others do not count: those of virtual machines go
    /// wherever the machine goes.
    func verdict(on current: [NetworkPlace]) -> Verdict {
        guard !places.isEmpty else { return .own }
        let waysOut = current.filter(\.isWayOut)
        let named = waysOut.isEmpty ? current.filter { !$0.isNameless } : waysOut
        let judged = named.isEmpty ? current : named
        guard !judged.isEmpty else { return .nowhere }
        if named.isEmpty { return places.contains(where: \.isNameless) ? .own : .nameless }
        let verdicts = judged.flatMap { here in places.map { OwnNetworks.verdict(here, $0) } }
        return verdicts.contains(.own) ? .own : verdicts.contains(.unsure) ? .unsure : .another
    }

    /// Two gateways are the same or not; else a common prefix has to do.
    private static func verdict(_ here: NetworkPlace, _ known: NetworkPlace) -> Verdict {
        if here.isNameless || known.isNameless { return here.isNameless == known.isNameless ? .own : .another }
        if let gateway = here.gateway, let other = known.gateway { return gateway == other ? .own : .another }
        guard !Set(here.prefixes).isDisjoint(with: known.prefixes) else { return .another }
        return here.isWayOut && known.gateway != nil ? .unsure : .own
    }

    /// Makes the networks this machine is on some of them; one without a name only where there is no other, for it
    /// stands for all of these.
    mutating func add(_ networks: [NetworkPlace]) {
        let named = networks.filter { !$0.isNameless }
        var current = named.isEmpty ? Array(networks.prefix(1)) : named
        // What is kept is the network, not how it was reached.
        for index in current.indices { current[index].interface = "" }
        refresh(current)
        places += current.filter { here in !places.contains { OwnNetworks.verdict(here, $0) == .own } }
        places = Array(places.suffix(OwnNetworks.placesMax))
    }

    /// Takes what has come to be known of those this machine is on, or has changed: a gateway's address, a prefix.
    mutating func refresh(_ current: [NetworkPlace]) {
        for (index, known) in places.enumerated() {
            guard let here = current.first(where: { OwnNetworks.verdict($0, known) == .own }) else { continue }
            places[index].gateway = here.gateway ?? known.gateway
            places[index].isWayOut = here.isWayOut || known.isWayOut
            if !here.prefixes.isEmpty { places[index].prefixes = here.prefixes }
        }
    }

    // MARK: As text, a line each: the gateway or `-`, `out` or `-`, prefixes

    var text: String {
        places.map { ([$0.gateway ?? "-", $0.isWayOut ? "out" : "-"] + $0.prefixes).joined(separator: " ") }
            .joined(separator: "\n")
    }

    init() {}

    init(text: String) {
        places = text.split(separator: "\n").prefix(OwnNetworks.placesMax).compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 2 else { return nil }
            return NetworkPlace(
                gateway: words[0] == "-" ? nil : words[0], isWayOut: words[1] == "out",
                prefixes: Array(words.dropFirst(2)))
        }
    }
}

/// What a node knows of the networks it is on, and whether it rests because of them.
struct NetworkWatch {
    var own = OwnNetworks()
    var current: [NetworkPlace] = []
    var isPaused = false
    var lookedMs: UInt64 = 0
    /// Since when it has been unsure.
    var unsureMs: UInt64?
    /// Where it was when it was last sure to be at home.
    var sure: [NetworkPlace] = []
    /// Interfaces that have been on another network, without interruption since then.
    var strange: Set<String> = []
    /// Interfaces that have been on one network without interruption since then.
    var steady: Set<String> = []
    /// Since when it has been on networks without a name alone.
    var namelessMs: UInt64?
    var again: LoopTimer?

    /// Whether nothing has changed since it was sure: neither addresses nor the network that an interface is on.
    var isWhereItWasSure: Bool {
        !sure.isEmpty && current.map(\.prefixes) == sure.map(\.prefixes)
            && current.map(\.interface) == sure.map(\.interface)
    }

    var isWhereItWasStrange: Bool { current.contains { $0.isWayOut && strange.contains($0.interface) } }
}
