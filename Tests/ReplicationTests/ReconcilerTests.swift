import Seal
import Testing
import Tree
import Wire

@testable import Replication

/// What a peer answers may be anything.
@Suite struct ReconcilerTests {
    private let bucket = TimeBucket(level: 1, containing: HLC(ms: 1_800_000_000_000))

    private func references(_ range: Range<Int>) -> [EntryReference] {
        range.map { EntryReference(hlc: HLC(ms: 1_800_000_000_000 + UInt64($0)), idPrefix: UInt64($0)) }
    }

    private func pump(_ machine: inout Reconciler, nowMs: UInt64 = 0) -> [PeerMessage] {
        machine.pump(nowMs: nowMs, children: { _ in [] }, claim: { $0 })
    }

    /// A puller that has asked for the list of a bucket.
    private func listing() -> Reconciler {
        var machine = Reconciler()
        machine.start(nowMs: 0)
        _ = pump(&machine)
        _ = machine.differ(.root, [ChildDifference(index: bucket.index, count: 100, references: nil)], nowMs: 0) { $0 }
        _ = pump(&machine)
        return machine
    }

    @Test func listsMustRise() {
        for bad in [references(0..<3).reversed(), [references(0..<1)[0], references(0..<1)[0]]] as [[EntryReference]] {
            var machine = listing()
            let isHonest = machine.ids(bucket, bad, more: true, nowMs: 0) { $0 }
            #expect(!isHonest)
        }
        var machine = listing()
        let outside = [EntryReference(hlc: HLC(ms: 5), idPrefix: 1)]
        let takesOutside = machine.ids(bucket, outside, more: false, nowMs: 0) { $0 }
        #expect(!takesOutside)
        machine = listing()
        let takesRising = machine.ids(bucket, references(0..<3), more: true, nowMs: 0) { $0 }
        #expect(takesRising)
        let next = pump(&machine)
        #expect(next.last == .list(bucket, after: references(2..<3)[0]))
        let takesOverlap = machine.ids(bucket, references(2..<5), more: true, nowMs: 0) { $0 }
        #expect(!takesOverlap)
    }

    @Test func childrenMustBeDifferentOnesBelow() {
        let child = ChildDifference(index: bucket.index, count: 5000, references: nil)
        for bad in [[child, child], [ChildDifference(index: 1 << 40, count: 1, references: nil)]] {
            var machine = Reconciler()
            machine.start(nowMs: 0)
            _ = pump(&machine)
            let isHonest = machine.differ(.root, bad, nowMs: 0) { $0 }
            #expect(!isHonest)
        }
    }

    /// What nobody asked for is not even looked at.
    @Test func unaskedAnswersAreLetPass() {
        var machine = Reconciler()
        var looked = 0
        let look = { (references: [EntryReference]) in
            looked += references.count
            return references
        }
        _ = machine.ids(bucket, references(0..<4000), more: true, nowMs: 0, lacks: look)
        _ = machine.differ(.root, [], nowMs: 0, lacks: look)
        #expect(looked == 0)
        #expect(pump(&machine).isEmpty)
    }

    /// Neither lists nor offers without end fill the memory; asking goes on as answers come.
    @Test func whatWaitsIsBounded() {
        var machine = listing()
        var count = 0
        for page in 0..<20 {
            let part = references(page * 1024..<(page + 1) * 1024)
            guard machine.ids(bucket, part, more: true, nowMs: 0, lacks: { $0 }) else { break }
            count += pump(&machine).count { if case .list = $0 { true } else { false } }
        }
        #expect(count <= Reconciler.waitingMax / 1024 + 1)
        for page in 100..<200 where machine.takesOffers {
            machine.offer(references(page * 4096..<(page + 1) * 4096), nowMs: 0)
        }
        #expect(machine.outstanding.count <= Reconciler.wantsMax)
        // As what was asked for is answered, the list goes on.
        var rounds = 0
        var goesOn = false
        while !goesOn, rounds < 100 {
            rounds += 1
            machine.settle(machine.outstanding.sorted(), delivered: true, nowMs: 0)
            goesOn = pump(&machine).contains { if case .list = $0 { true } else { false } }
        }
        #expect(goesOn)
    }

    /// One answer now and then does not keep the rest of a pull alive for ever at others' expense.
    @Test func aPullWithoutProgressEnds() {
        var machine = Reconciler()
        machine.offer(references(0..<300), nowMs: 0)
        _ = pump(&machine)
        let endsEarly = machine.abandonIfStalled(nowMs: Reconciler.stallMs)
        #expect(!endsEarly)
        let ends = machine.abandonIfStalled(nowMs: Reconciler.stallMs + 1)
        #expect(ends)
        #expect(machine.outstanding.isEmpty && machine.deadlineMs == nil)
    }
}
