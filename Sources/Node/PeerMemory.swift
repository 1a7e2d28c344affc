internal import Seal
internal import Tree

/// The addresses that have led to nodes, kept over restarts: where multicast is blocked they are all there is.
struct PeerMemory: Equatable {
    struct Place: Equatable {
        let node: Bytes32
        /// As text: an interface that it names may not be there now.
        let address: String
        /// When it was good last, in hours since 1970: enough for its purpose, and a reconnection changes no byte.
        var hour: UInt64
    }

    /// Addresses kept of one node, the ones that were good last: those of a portable machine at home, at work and on
    /// its way.
    static let perNodeMax = 8
    /// Addresses kept altogether.
    static let countMax = 512
    /// An address that was not good for so long is forgotten.
    static let hoursMax: UInt64 = 30 * 24
    static let hourMs: UInt64 = 3_600_000

    /// Those that were good last come first.
    private(set) var places: [Place] = []

    init() {}

    /// Reads what ``text`` gave; a line without a time, as earlier versions wrote it, was good just now.
    init(_ text: String, nowMs: UInt64) {
        for line in text.split(separator: "\n").prefix(PeerMemory.countMax) {
            let parts = line.split(separator: " ")
            guard (2...3).contains(parts.count), let node = UID.parse(String(parts[0])) else { continue }
            let hour = parts.count == 3 ? UInt64(parts[2]) : nil
            places.append(
                Place(node: node, address: String(parts[1]), hour: min(hour ?? .max, nowMs / PeerMemory.hourMs)))
        }
        order()
    }

    var text: String {
        places.map { "\(UID.text($0.node)) \($0.address) \($0.hour)" }.joined(separator: "\n")
    }

    /// An address leads to a node now.
    mutating func note(_ node: Bytes32, _ address: String, nowMs: UInt64) {
        let hour = nowMs / PeerMemory.hourMs
        places.removeAll { $0.node == node && $0.address == address }
        places.insert(Place(node: node, address: address, hour: hour), at: 0)
        order()
    }

    /// Forgets what is old. Only for a clock that is known to be right: a wrong one would forget everything.
    mutating func expire(nowMs: UInt64) {
        let hour = nowMs / PeerMemory.hourMs
        places.removeAll { hour > $0.hour && hour - $0.hour > PeerMemory.hoursMax }
    }

    private mutating func order() {
        var counts: [Bytes32: Int] = [:]
        // Stable: of equal hours what was noted last comes first.
        let sorted = places.enumerated().sorted { a, b in
            a.element.hour != b.element.hour ? a.element.hour > b.element.hour : a.offset < b.offset
        }.map(\.element)
        places = sorted.filter { place in
            counts[place.node, default: 0] += 1
            return counts[place.node, default: 0] <= PeerMemory.perNodeMax
        }
        places = Array(places.prefix(PeerMemory.countMax))
    }
}
