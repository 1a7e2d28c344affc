import Seal
import Testing

@testable import Replication

@Suite struct CloneWatchTests {
    private static let own = Bytes32(repeating: 1)
    private static let anna = Bytes32(repeating: 2)
    private let one = LinkID(1)
    private let two = LinkID(2)
    private let three = LinkID(3)

    private func watch() -> CloneWatch { CloneWatch(own: CloneWatchTests.own, instance: 1) }

    /// Asks and answers, as the replicator and a peer do.
    private func answer(_ links: [LinkID], _ watch: inout CloneWatch) {
        for link in links {
            watch.sentPing(link)
            watch.answered(link)
        }
    }

    @Test func bothHaveToAnswer() {
        var watch = watch()
        #expect(watch.up(one, peer: Self.anna, instance: 7).isEmpty)
        #expect(watch.up(two, peer: Self.anna, instance: 7).isEmpty)
        #expect(watch.up(three, peer: Self.anna, instance: 8) == [one, two, three])
        answer([three], &watch)
        #expect(watch.clones.isEmpty)
        answer([two], &watch)
        #expect(watch.clones == [Self.anna])
    }

    /// An answer that was under way when the second instance came is one to an earlier question.
    @Test func answersToEarlierQuestionsProveNothing() {
        var watch = watch()
        _ = watch.up(one, peer: Self.anna, instance: 7)
        watch.sentPing(one)
        _ = watch.up(two, peer: Self.anna, instance: 8)
        watch.sentPing(one)
        answer([two], &watch)
        watch.answered(one)
        #expect(watch.clones.isEmpty)
        watch.answered(one)
        #expect(watch.clones == [Self.anna])
    }

    /// Who has answered once may have been started anew since.
    @Test func everyNewInstanceIsANewDoubt() {
        var watch = watch()
        _ = watch.up(one, peer: Self.anna, instance: 7)
        answer(watch.up(two, peer: Self.anna, instance: 8), &watch)
        watch.down(two, isOrderly: true, nowMs: 0)
        #expect(watch.clones.isEmpty)
        #expect(watch.up(three, peer: Self.anna, instance: 9) == [one, three])
        answer([three], &watch)
        #expect(watch.clones.isEmpty)
    }

    @Test func onesOwnKeyNeedsOneAnswer() {
        var watch = watch()
        answer(watch.up(one, peer: Self.own, instance: 2), &watch)
        #expect(watch.clones == [Self.own] && watch.isCloned(Self.own))
    }

    /// A link that breaks and comes back is no news; one that stays away ends it.
    @Test func brokenLinksAreWaitedFor() {
        var watch = watch()
        answer(watch.up(one, peer: Self.own, instance: 2), &watch)
        watch.down(one, isOrderly: false, nowMs: 1000)
        watch.expire(nowMs: 1000 + CloneWatch.lingerMs - 1)
        #expect(watch.clones == [Self.own] && watch.nextDeadlineMs == 1000 + CloneWatch.lingerMs)
        answer(watch.up(two, peer: Self.own, instance: 2), &watch)
        watch.expire(nowMs: 100_000)
        #expect(watch.clones == [Self.own] && watch.nextDeadlineMs == nil)
        watch.down(two, isOrderly: false, nowMs: 100_000)
        watch.expire(nowMs: 100_000 + CloneWatch.lingerMs)
        #expect(watch.clones.isEmpty)
    }
}
