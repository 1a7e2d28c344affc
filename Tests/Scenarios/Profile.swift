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

    init(_ random: inout SplitMix64) {
        let size = Int.random(in: 0..<100, using: &random)
        if size < 4 {
            nodeCount = Int.random(in: 10...30, using: &random)
            stepCount = 12
        } else {
            nodeCount = Int.random(in: 2...6, using: &random)
            stepCount = size < 20 ? 120 : Int.random(in: 20...60, using: &random)
        }
        let share = [15, 30, 50][Int.random(in: 0..<3, using: &random)]
        var faults: Set<Fault> = []
        for fault in Fault.allCases {
            let own = Profile.rare.contains(fault) ? share / 2 : share
            if Int.random(in: 0..<100, using: &random) < own { faults.insert(fault) }
        }
        self.faults = faults
        isSlow = nodeCount <= 6 && Int.random(in: 0..<10, using: &random) == 0
    }

    package func has(_ fault: Fault) -> Bool { faults.contains(fault) }

    package var words: String {
        "\(nodeCount) nodes, \(stepCount) steps: " + faults.map(\.rawValue).sorted().joined(separator: " ")
    }
}
