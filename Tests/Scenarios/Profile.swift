internal import Replication
internal import Simulation

/// What may go wrong in one scenario, drawn from its seed: each fault in some seeds and not in others, because one may
/// hide another.
package struct Profile: Sendable {
    package enum Fault: String, CaseIterable, Sendable {
        case flaps, partitions, silence, badLinks, sleep, weeks, skew, years, jumps, deadBattery
        case kill, powerFailure, midStep, diskFull, clone, restore, oldVersion, unknownKinds, hostile, bulk, soft
    }

    package let nodeCount: Int
    package let stepCount: Int
    package let faults: Set<Fault>
    /// Now and then minutes pass between two steps. Little happens in them, and it costs as much as everything else.
    package let isSlow: Bool

    /// Faults that need more than the others' share of seeds to stay out.
    private static let rare: Set<Fault> = [.bulk, .clone, .weeks, .years]
    /// Of a thousand seeds so many have a network in which nobody has links to everybody.
    private static let largePerMille = 10
    private static let largest = 2000

    /// - `nodes`: how many there are, whatever the seed says.
    init(seed: UInt64, nodes: Int?, _ random: inout SplitMix64) {
        var (count, steps) = (0, 12)
        let size = Int.random(in: 0..<100, using: &random)
        if size < 4 {
            count = Int.random(in: 10...30, using: &random)
        } else {
            count = Int.random(in: 2...6, using: &random)
            steps = size < 20 ? 120 : Int.random(in: 20...60, using: &random)
        }
        nodeCount = nodes ?? Profile.large(seed) ?? count
        stepCount = nodeCount > Replicator.everybodyMax ? 40 : nodeCount > 6 ? 12 : steps
        let share = [15, 30, 50][Int.random(in: 0..<3, using: &random)]
        var faults: Set<Fault> = []
        for fault in Fault.allCases {
            let own = Profile.rare.contains(fault) ? share / 2 : share
            if Int.random(in: 0..<100, using: &random) < own { faults.insert(fault) }
        }
        // Only from its presence does anybody know how large such a network is.
        if nodeCount > Replicator.everybodyMax { faults.insert(.soft) }
        self.faults = faults
        isSlow = nodeCount <= 6 && Int.random(in: 0..<10, using: &random) == 0
    }

    /// The number of nodes of a large network, if the seed has one. Of six octaves from 33 on the lower ones are drawn
    /// more often, since twice the nodes take up to four times as long. Drawn apart from the rest, so that the other
    /// seeds are what they were before it.
    private static func large(_ seed: UInt64) -> Int? {
        var random = SplitMix64(seed: seed ^ 0x51_2E5)
        guard Int.random(in: 0..<1000, using: &random) < largePerMille else { return nil }
        let octave = (0..<2).map { _ in Int.random(in: 0..<6, using: &random) }.min() ?? 0
        let least = Replicator.everybodyMax << octave
        return Int.random(in: least + 1...min(2 * least, largest), using: &random)
    }

    /// Whether nodes keep links to a few others only.
    package var isLarge: Bool { nodeCount > Replicator.everybodyMax }

    package func has(_ fault: Fault) -> Bool { faults.contains(fault) }

    package var words: String {
        "\(nodeCount) nodes, \(stepCount) steps: " + faults.map(\.rawValue).sorted().joined(separator: " ")
    }
}
