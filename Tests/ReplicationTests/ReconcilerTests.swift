import Seal
import Testing
import Tree
import Wire

@testable import Replication

/// A node with the entries of these references.
private struct FakeSource: PullSource {
    var held: [EntryReference] = []
    var taken: [ReferenceRange] = []
    /// Where a stretch that is named in parts is cut.
    var shortened: EntryReference?

    func digest(of bucket: TimeBucket) -> DigestPrefix {
        let inside = held.filter { bucket.contains($0.hlc) }
        return DigestPrefix(count: inside.count, sum: inside.reduce(0) { $0 &+ $1.idPrefix })
    }

    func children(of bucket: TimeBucket) -> [ChildDigest] {
        guard bucket.level < TimeBucket.levelMax else { return [] }
        let indices = Set(held.filter { bucket.contains($0.hlc) }.map { child(of: bucket, $0).index }).sorted()
        return indices.compactMap { index in
            TimeBucket(level: bucket.level + 1, index: index).map { ChildDigest(index: index, digest: digest(of: $0)) }
        }
    }

    private func child(of bucket: TimeBucket, _ reference: EntryReference) -> TimeBucket {
        TimeBucket(level: bucket.level + 1, containing: reference.hlc)
    }

    private func references(in range: ReferenceRange, newest limit: Int) -> [EntryReference] {
        Array(held.filter(range.contains).sorted().reversed().prefix(limit))
    }

    func last(in range: ReferenceRange) -> EntryReference? { references(in: range, newest: 1).first }

    func named(in range: ReferenceRange, salt: Salt, newest limit: Int) -> NamedRange {
        let own = references(in: range, newest: limit)
        var named = NamedRange(range: range, known: [UInt32](repeating: 0, count: own.count), count: own.count)
        if let shortened { named.range = ReferenceRange(after: shortened, through: range.through) }
        guard own.count == limit, let oldest = own.last else { return named }
        named.known.removeLast()
        named.range = ReferenceRange(after: oldest, through: range.through)
        named.rest = ReferenceRange(after: range.after, through: oldest)
        return named
    }

    func isTaken(_ range: ReferenceRange) -> Bool { taken.contains { $0.overlaps(range) } }
}

/// What a peer answers may be anything.
@Suite struct ReconcilerTests {
    private static let startMs: UInt64 = 1_800_000_000_000
    private let bucket = TimeBucket(level: 1, containing: HLC(ms: ReconcilerTests.startMs))

    private func references(_ range: Range<Int>, everyMs: UInt64 = 1) -> [EntryReference] {
        range.map {
            EntryReference(hlc: HLC(ms: ReconcilerTests.startMs + UInt64($0) * everyMs), idPrefix: UInt64($0))
        }
    }

    private func digest(_ count: Int) -> DigestPrefix { DigestPrefix(count: count, sum: 77) }

    private func summary(_ bucket: TimeBucket, _ count: Int) -> BucketSummary {
        BucketSummary(index: bucket.index, digest: digest(count))
    }

    private func pump(_ machine: inout Reconciler, _ source: FakeSource = FakeSource()) throws -> [PeerMessage] {
        try machine.pump(nowMs: 0, source) { $0 }
    }

    private func bundles(_ count: Int, bytes: Int = 100, at hlc: HLC = HLC(ms: 1 << 32)) throws -> [Bundle] {
        let signature = try #require(Signature([UInt8](repeating: 7, count: 64)))
        return try (0..<count).map { number in
            let entry = try Entry(
                path: try Path(parsing: "apps/x/\(number)"), hlc: hlc, author: Bytes32(repeating: 1),
                value: .string(String(repeating: "x", count: bytes)))
            return Bundle(
                author: entry.author, count: 1, signature: signature, leaves: [Bundle.Leaf(index: 0, entry: entry)],
                omitted: [])
        }
    }

    private func sifts(_ messages: [PeerMessage]) -> [Sift] {
        messages.compactMap { if case .sift(let sift) = $0 { sift } else { nil } }
    }

    /// A puller that has asked for a bucket of which it has nothing.
    private func sifting(_ count: Int = 100) throws -> (machine: Reconciler, sift: Sift) {
        var machine = Reconciler()
        machine.start(theirs: digest(100_000), salt: 1, nowMs: 0)
        #expect(try pump(&machine) == [.compare(.root, [])])
        let isHonest = machine.differ(.root, [summary(bucket, count)], nowMs: 0) { _ in [] }
        #expect(isHonest)
        let sift = try #require(sifts(try pump(&machine)).first)
        #expect(sift.range == ReferenceRange(bucket) && sift.known.isEmpty)
        return (machine, sift)
    }

    @Test func answersMustLieInWhatWasAsked() throws {
        for reached in [ReferenceRange(.root).after, ReferenceRange(.root).through] {
            var (machine, sift) = try sifting()
            let isHonest = machine.sifted(through: sift.range.through, reached: reached, nowMs: 0)
            #expect(!isHonest)
        }
        var (machine, sift) = try sifting()
        let isHonest = machine.sifted(through: sift.range.through, reached: sift.range.after, nowMs: 0)
        let ended = machine.finish()
        #expect(isHonest && ended)
    }

    /// An answer that says that there is more and brings nothing would be asked for without end.
    @Test func anAnswerWithMoreBringsSomething() throws {
        let middle = references(0..<1)[0]
        var (machine, sift) = try sifting()
        let isHonest = machine.sifted(through: sift.range.through, reached: middle, nowMs: 0)
        #expect(!isHonest)
        (machine, sift) = try sifting()
        machine.arrive(try bundles(3), nowMs: 0)
        let goesOn = machine.sifted(through: sift.range.through, reached: middle, nowMs: 0)
        #expect(goesOn)
        let rest = try #require(sifts(try pump(&machine)).first)
        #expect(rest.range == ReferenceRange(after: sift.range.after, through: middle))
    }

    /// The end of an answer to a pull that was given up may come when the same bucket is pulled again, in other parts.
    @Test func lateAnswersAreNoNonsense() throws {
        for isBelow in [true, false] {
            var (machine, old) = try sifting()
            machine.abandon()
            let middle = EntryReference(hlc: HLC(ms: Self.startMs), idPrefix: 1)
            // The upper half alone, or all of it once more, of which nothing has come.
            machine.mend([(bucket, 0, 100)], key: Bytes32(repeating: 1), nowMs: 0)
            let asked = try #require(sifts(try pump(&machine, FakeSource(shortened: isBelow ? middle : nil))).first)
            #expect(asked.range.through == old.range.through && (asked.range.after == middle) == isBelow)
            let reached = isBelow ? old.range.after : middle
            let isHonest = machine.sifted(through: asked.range.through, reached: reached, nowMs: 0)
            #expect(isHonest && machine.isOwed, "the new one is still to come")
            let isHonestAgain = machine.sifted(through: asked.range.through, reached: reached, nowMs: 0)
            #expect(!isHonestAgain, "and there was one old one")
        }
    }

    /// What is not stored has to be added up, so nobody says unasked what is below it and has it looked up.
    @Test func nothingIsAddedUpUnasked() throws {
        var machine = Reconciler()
        machine.start(theirs: digest(100_000), salt: 1, nowMs: 0)
        _ = try pump(&machine)
        let minute = TimeBucket(level: 3, containing: HLC(ms: Self.startMs))
        let hours = TimeBucket(level: 2, containing: HLC(ms: Self.startMs))
        let finest = TimeBucket(level: 4, containing: HLC(ms: Self.startMs))
        func told(_ bucket: TimeBucket, _ children: [BucketSummary]) -> BucketSummary {
            BucketSummary(index: bucket.index, digest: digest(20_001), children: children)
        }
        let summaries = [told(bucket, [told(hours, [told(minute, [summary(finest, 1)])])])]
        var looked: [Int] = []
        let isHonest = machine.differ(.root, summaries, nowMs: 0) { parent in
            looked.append(parent.level)
            let child = TimeBucket(level: parent.level + 1, containing: HLC(ms: Self.startMs))
            return [ChildDigest(index: child.index, digest: DigestPrefix(count: 20_000, sum: 1))]
        }
        #expect(isHonest && looked == [0, 1, 2])
        #expect(machine.bucketCount == 1)
    }

    @Test func childrenMustBeBelow() throws {
        var machine = Reconciler()
        machine.start(theirs: digest(100_000), salt: 1, nowMs: 0)
        _ = try pump(&machine)
        let outside = BucketSummary(index: 1 << 40, digest: digest(1))
        let isHonest = machine.differ(.root, [outside], nowMs: 0) { _ in [] }
        #expect(!isHonest)
    }

    /// What nobody asked for is not even looked at.
    @Test func unaskedAnswersAreLetPass() throws {
        var machine = Reconciler()
        var looked = 0
        let isHonest = machine.differ(.root, [summary(bucket, 5)], nowMs: 0) { _ in
            looked += 1
            return []
        }
        let range = ReferenceRange(.root)
        let isHonestToo = machine.sifted(through: range.through, reached: range.after, nowMs: 0)
        #expect(isHonest && isHonestToo && looked == 0)
        #expect(try pump(&machine).isEmpty)
    }

    /// The youngest first; what is equal is not asked for, and what the answer tells of the next level saves asking.
    @Test func theYoungestDifferenceComesFirst() throws {
        let held = references(0..<5000, everyMs: 60_000)
        var machine = Reconciler()
        machine.start(theirs: digest(100_000), salt: 1, nowMs: 0)
        let source = FakeSource(held: held)
        #expect(try pump(&machine, source) == [.compare(.root, source.children(of: .root))])
        let children = source.children(of: bucket)
        var told = children.map { BucketSummary(index: $0.index, digest: $0.digest) }
        let (old, young) = (told[2].index, told[told.count - 2].index)
        for index in [2, told.count - 2] { told[index] = BucketSummary(index: told[index].index, digest: digest(280)) }
        let root = BucketSummary(index: bucket.index, digest: digest(100_000), children: told)
        let isHonest = machine.differ(.root, [root], nowMs: 0) { source.children(of: $0) }
        #expect(isHonest)
        let asked = sifts(try pump(&machine, source))
        let expected = [young, old].compactMap { TimeBucket(level: 2, index: $0).map { ReferenceRange($0) } }
        #expect(asked.map(\.range) == expected)
        #expect(asked.allSatisfy { !$0.known.isEmpty })
    }

    /// Of a bucket with very many entries first what is behind the last own one, then all of it in parts.
    @Test func largeBucketsAreSiftedInParts() throws {
        let minute = TimeBucket(level: 3, containing: HLC(ms: ReconcilerTests.startMs))
        let source = FakeSource(
            held: (0..<10_000).map {
                EntryReference(hlc: HLC(ms: minute.lowerBound.ms + UInt64($0)), idPrefix: UInt64($0))
            })
        var machine = Reconciler()
        machine.start(theirs: digest(200_000), salt: 1, nowMs: 0)
        _ = try pump(&machine, source)
        let below = TimeBucket(level: 2, containing: minute.lowerBound)
        let hours = BucketSummary(
            index: below.index, digest: digest(200_000), children: [summary(minute, 200_000)])
        let days = BucketSummary(index: bucket.index, digest: digest(200_000), children: [hours])
        let isHonest = machine.differ(.root, [days], nowMs: 0) { source.children(of: $0) }
        #expect(isHonest)
        let first = sifts(try pump(&machine, source))
        #expect(first.count == 1 && first[0].known.isEmpty && first[0].range.after == source.held.last)
        machine.arrive(try bundles(1), nowMs: 0)
        let ends = machine.sifted(through: first[0].range.through, reached: first[0].range.after, nowMs: 0)
        #expect(ends)
        #expect(try pump(&machine, source).isEmpty, "before it is stored nobody knows what else is missing")
        machine.store(nowMs: 0)
        var known = 0
        var oldest = ReferenceRange(minute).through
        for _ in 0..<10 {
            for sift in sifts(try pump(&machine, source)) {
                #expect(sift.range.through == oldest && sift.known.count <= Reconciler.namedMax)
                oldest = sift.range.after
                known += sift.known.count
                _ = machine.sifted(through: sift.range.through, reached: sift.range.after, nowMs: 0)
            }
        }
        #expect(known == source.held.count && oldest == ReferenceRange(minute).after)
        let ended = machine.finish()
        #expect(ended)
    }

    /// A peer that claims to have ever more does not get more outstanding than the credit, and offers do not fill the
    /// memory.
    @Test func whatIsUnderWayIsBounded() throws {
        var machine = Reconciler()
        machine.start(theirs: digest(1 << 30), salt: 1, nowMs: 0)
        _ = try pump(&machine)
        let below = (0..<200).map { summary(TimeBucket(level: 1, containing: HLC(ms: UInt64($0) << 32)), 4000) }
        let isHonest = machine.differ(.root, below, nowMs: 0) { _ in [] }
        #expect(isHonest)
        var asked: [Sift] = []
        for _ in 0..<10 { asked += sifts(try pump(&machine)) }
        try #require(asked.count >= 2)
        #expect(asked.reduce(0) { $0 + $1.bytesMax } <= Reconciler.creditBytes)
        // What has come and is not stored counts too.
        machine.arrive(try bundles(1, bytes: asked[0].bytesMax), nowMs: 0)
        _ = machine.sifted(through: asked[0].range.through, reached: asked[0].range.after, nowMs: 0)
        #expect(try pump(&machine).isEmpty)
        machine.store(nowMs: 0)
        #expect(try !pump(&machine).isEmpty)
        for page in 100..<200 where machine.takesOffers {
            machine.offer(references(page * 4096..<(page + 1) * 4096), nowMs: 0)
        }
        _ = try pump(&machine)
        #expect(machine.outstanding.count <= Reconciler.wantsMax)
    }

    /// What another peer is being asked for is left to it, and looked at again in the end.
    @Test func whatIsTakenIsPostponed() throws {
        var machine = Reconciler()
        machine.start(theirs: digest(100), salt: 1, nowMs: 0)
        var source = FakeSource(taken: [ReferenceRange(bucket)])
        #expect(try pump(&machine, source).isEmpty)
        source.taken = []
        #expect(sifts(try pump(&machine, source)).map(\.range) == [ReferenceRange(.root)])
    }

    /// One answer now and then does not keep the rest of a pull alive for ever at others' expense.
    @Test func aPullWithoutProgressEnds() throws {
        var machine = Reconciler()
        machine.offer(references(0..<300), nowMs: 0)
        _ = try pump(&machine)
        let endsEarly = machine.abandonIfStalled(nowMs: Reconciler.stallMs)
        #expect(!endsEarly)
        let ends = machine.abandonIfStalled(nowMs: Reconciler.stallMs + 1)
        #expect(ends)
        #expect(machine.outstanding.isEmpty && machine.deadlineMs == nil)
    }

    /// Who pushes and never answers has a pull waiting for longer than who says nothing, since the answer may stand
    /// behind all that, but not for ever.
    @Test func whatNobodyAskedForIsNoAnswer() throws {
        for isAnswer in [false, true] {
            var (machine, sift) = try sifting()
            var endedMs: UInt64?
            for ms in stride(from: UInt64(5000), through: 600_000, by: 5000) where endedMs == nil {
                // The time of what comes unasked is outside the range.
                let hlc = isAnswer ? sift.range.through.hlc : HLC(ms: 5)
                machine.arrive(try bundles(1, bytes: 10, at: hlc), nowMs: ms)
                machine.store(new: 1, nowMs: ms)
                if machine.abandonIfStalled(nowMs: ms) { endedMs = ms }
            }
            #expect(endedMs == (isAnswer ? nil : Reconciler.unansweredMs + 5000))
            #expect(machine.isActive == isAnswer)
        }
    }

    /// Who gives an entry now and then keeps his pull alive, but not what he was asked for from others.
    @Test func aStretchIsLeftToAPeerOnlyWhileItComes() throws {
        for isHonest in [false, true] {
            var (machine, sift) = try sifting()
            #expect(machine.pulls(sift.range, nowMs: Reconciler.gainingMs))
            let given = try bundles(isHonest ? 1000 : 1, bytes: 1000)
            for ms in stride(from: UInt64(9000), through: 180_000, by: 9000) {
                machine.arrive(given, nowMs: ms)
                machine.store(new: given.count, nowMs: ms)
                #expect(machine.isGaining(nowMs: ms))
                // There is always more.
                let reached = references(0..<1)[0]
                let goesOn = machine.sifted(through: sift.range.through, reached: reached, nowMs: ms)
                #expect(goesOn)
                let range = ReferenceRange(after: sift.range.after, through: reached)
                let asked = sifts(try machine.pump(nowMs: ms, FakeSource()) { $0 })
                sift = try #require(asked.first { $0.range == range })
                let isLeft = isHonest || ms <= Reconciler.gainingMs
                #expect(machine.pulls(range, nowMs: ms) == isLeft && machine.isPrompt(nowMs: ms) == isLeft, "\(ms) ms")
            }
        }
    }

    /// Who answers, but with what is here already, keeps his own pull alive; what it was to bring is left to others.
    @Test func aPullThatBringsNothingNewStandsInNobodysWay() throws {
        let key = SigningKey(seed: Bytes32(repeating: 1))
        let entry = try Entry(path: Path(parsing: "a"), hlc: HLC(ms: 1), author: key.publicKey, value: .bool(true))
        let bundle = Bundle(signing: [entry], by: key, workspace: .zero)
        var machine = Reconciler()
        #expect(!machine.isGaining(nowMs: 0))
        machine.start(theirs: digest(100), salt: 1, nowMs: 0)
        for ms in stride(from: UInt64(1000), through: 30_000, by: 1000) {
            #expect(machine.isGaining(nowMs: ms) == (ms <= Reconciler.gainingMs))
            machine.arrive([bundle], nowMs: ms)
            machine.store(nowMs: ms)
        }
        let isStalled = machine.abandonIfStalled(nowMs: 30_000)
        #expect(!isStalled && machine.isActive)
        machine.arrive([bundle], nowMs: 30_000)
        machine.store(new: 1, nowMs: 30_000)
        #expect(machine.isGaining(nowMs: 30_000))
    }
}
