internal import Seal

/// How many entries of each peer were refused since the start.
struct DeniedCounts {
    /// Peers that are counted; beyond that the one with the least gives way. Identities cost nothing.
    static let peersMax = 256

    private var counts: [Bytes32: Int] = [:]

    func count(of peer: Bytes32) -> Int { counts[peer] ?? 0 }

    mutating func add(_ count: Int, _ peer: Bytes32) {
        if counts[peer] == nil, counts.count >= DeniedCounts.peersMax,
            let least = counts.min(by: { $0.value != $1.value ? $0.value < $1.value : $0.key < $1.key })
        {
            counts[least.key] = nil
        }
        counts[peer, default: 0] += count
    }
}
