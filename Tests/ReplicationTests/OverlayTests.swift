import Seal
import Testing
import Tree
import Wire

@testable import Replication

/// Views of the network as a machine: what it says to one event, without any network.
@Suite struct OverlayTests {
    private func key(_ number: Int) -> Bytes32 { Bytes32(repeating: UInt8(truncatingIfNeeded: number)) }
    private func place(_ number: Int) -> PeerAddress { PeerAddress(node: key(number), address: "10.0.0.\(number):1") }

    /// A machine with views and this many neighbours, which came up at time 0; it has done what that called for.
    private func machine(neighbours count: Int, nowMs: UInt64 = 0) -> Overlay {
        var overlay = Overlay(own: key(0), seed: 1)
        for number in 1...max(1, count) where number <= count {
            _ = overlay.up(LinkID(number), key(number), nowMs: 0)
            overlay.addresses[key(number)] = place(number).address
        }
        _ = overlay.tick(size: 100, nowMs: nowMs)
        return overlay
    }

    private func demoted(_ actions: [Overlay.Action]) -> [LinkID] {
        actions.compactMap { if case .demote(let link) = $0 { link } else { nil } }
    }

    private func dialled(_ actions: [Overlay.Action]) -> [PeerAddress] {
        actions.compactMap { if case .connect(let address) = $0 { address } else { nil } }
    }

    @Test func viewsBeginAbove32AndEndBelow24() {
        var overlay = Overlay(own: key(0), seed: 1)
        let stays = overlay.tick(size: 32, nowMs: 0).isEmpty
        #expect(stays)
        #expect(overlay.nextDeadlineMs == nil)
        let begins = overlay.tick(size: 33, nowMs: 0).contains(.dialEverybody(false))
        #expect(begins)
        let staysInViews = !overlay.tick(size: 24, nowMs: 1).contains(.dialEverybody(true))
        #expect(staysInViews)
        overlay.learn([place(7)])
        let back = overlay.tick(size: 23, nowMs: 2)
        #expect(back.contains(.dialEverybody(true)) && back.contains(.learned([place(7)])))
        let isQuiet = overlay.tick(size: 32, nowMs: 3).isEmpty
        #expect(isQuiet)
    }

    @Test func neighboursBeyondTheActiveViewAreLetGoOneByOne() {
        var overlay = machine(neighbours: 32)
        var nowMs: UInt64 = 0
        var times: [UInt64] = []
        while nowMs < 30_000 {
            nowMs += 50
            for link in demoted(overlay.tick(size: 100, nowMs: nowMs)) {
                times.append(nowMs)
                overlay.down(link, nowMs: nowMs)
            }
        }
        #expect(overlay.neighbours.count == Overlay.activeMax)
        #expect(times.count == 24 && times.first ?? 0 >= Overlay.graceMs && Set(times).count == 24)
        // Whoever was let go can be asked later.
        #expect(overlay.passive.count == 24)
    }

    /// A peer that has few links itself is not let go.
    @Test func nobodyIsLeftAlone() {
        var overlay = machine(neighbours: 12)
        for link in overlay.orderedLinks { overlay.neighbours[link]?.links = Overlay.activeMin }
        let nobody = demoted(overlay.tick(size: 100, nowMs: 10_000)).isEmpty
        #expect(nobody)
        overlay.neighbours[LinkID(5)]?.links = Overlay.activeMax
        let theOneWithMany = demoted(overlay.tick(size: 100, nowMs: 20_000)) == [LinkID(5)]
        #expect(theOneWithMany)
    }

    @Test func whoCanDoWithoutIsRefusedAndWhoCannotIsNot() {
        var overlay = machine(neighbours: Overlay.activeMax)
        let cases: [(Int, NeighbourPriority, Bool)] = [(50, .low, true), (51, .high, false), (52, .join, false)]
        for (number, priority, isRefused) in cases {
            let link = LinkID(number)
            _ = overlay.up(link, key(number), nowMs: 1)
            let answer = overlay.received(link, .neighbour(priority, soft: 0), nowMs: 1)
            #expect(demoted(answer) == (isRefused ? [link] : []))
            #expect(answer.contains(.send(link, .disconnect)) == isRefused)
            overlay.down(link, nowMs: 1)
        }
    }

    @Test func missingNeighboursAreDialledOneAtATime() {
        var overlay = machine(neighbours: 3)
        overlay.learn((20..<40).map(place))
        var dials: [PeerAddress] = []
        for nowMs in stride(from: UInt64(0), to: 1000, by: 10) {
            dials += dialled(overlay.tick(size: 100, nowMs: nowMs))
        }
        #expect(dials.count == 4 && Set(dials).count == 4)
        for (index, address) in dials.prefix(3).enumerated() {
            let isLow = overlay.up(LinkID(100 + index), address.node, nowMs: 1000) == .low
            #expect(isLow)
        }
        let isEnough = dialled(overlay.tick(size: 100, nowMs: 2000)).isEmpty
        #expect(isEnough)
        #expect(!overlay.passive.contains { dials.prefix(3).contains($0.address) })
    }

    /// Dead entries leave the passive view, each making room for the next dial; then the shell is asked.
    @Test func theDeadAreForgotten() {
        var overlay = machine(neighbours: 0)
        overlay.learn((20..<40).map(place))
        var nowMs: UInt64 = 10
        var asked = false
        while !asked, nowMs < 10_000 {
            for action in overlay.tick(size: 100, nowMs: nowMs) {
                if case .connect(let address) = action { overlay.unreachable(address.address, nowMs: nowMs) }
                if case .connectAny = action { asked = true }
            }
            nowMs += 10
        }
        #expect(asked && overlay.passive.isEmpty && overlay.dials.isEmpty)
        #expect(nowMs < 1100)
        if let due = overlay.nextDeadlineMs { #expect(due >= nowMs) }
    }

    /// With nothing left to do at once the next deadline lies ahead, whatever is under way.
    @Test(arguments: [0, 1, 5, 6, 8, 12])
    func theDeadlineLiesAhead(neighbours: Int) {
        var overlay = machine(neighbours: neighbours)
        overlay.learn((20..<23).map(place))
        var nowMs: UInt64 = 0
        var steps = 0
        while nowMs < 600_000 {
            for link in demoted(overlay.tick(size: 100, nowMs: nowMs)) { overlay.down(link, nowMs: nowMs) }
            steps += 1
            guard let due = overlay.nextDeadlineMs else { break }
            nowMs = max(due, nowMs + 1)
        }
        #expect(steps < 2000, "\(steps) steps in ten minutes")
    }

    /// A link that the tree does not need is not pushed to, and goes first.
    @Test func aNewLinkIsEagerOnlyWhereOneIsMissing() {
        var overlay = machine(neighbours: 7)
        _ = overlay.up(LinkID(40), key(40), nowMs: 1)
        #expect(overlay.neighbours[LinkID(40)]?.isEager == false)
        overlay.down(LinkID(3), nowMs: 2)
        _ = overlay.up(LinkID(41), key(41), nowMs: 3)
        _ = overlay.up(LinkID(42), key(42), nowMs: 3)
        #expect(overlay.neighbours[LinkID(41)]?.isEager == true)
        #expect(overlay.neighbours[LinkID(42)]?.isEager == false)
        let first = demoted(overlay.tick(size: 100, nowMs: 10_000))
        #expect(first == [LinkID(40)] || first == [LinkID(42)])
    }

    @Test func aLinkIsPrunedAfterFourInVainInARow() {
        var overlay = machine(neighbours: 2)
        var pruned: [Bool] = []
        for _ in 0..<3 { pruned.append(overlay.broughtInVain(LinkID(1))) }
        overlay.brought(LinkID(1))
        for _ in 0..<4 { pruned.append(overlay.broughtInVain(LinkID(1))) }
        #expect(pruned == [false, false, false, false, false, false, true])
        #expect(overlay.neighbours[LinkID(1)]?.isEager == false)
    }

    @Test func aSuspectCountsForNothing() {
        var overlay = machine(neighbours: 6)
        overlay.learn([place(60)])
        let isEnough = dialled(overlay.tick(size: 100, nowMs: 10)).isEmpty
        #expect(isEnough)
        overlay.setSuspect(LinkID(1), true)
        let isReplaced = dialled(overlay.tick(size: 100, nowMs: 11)) == [place(60)]
        #expect(isReplaced)
    }

    @Test func aNewcomerIsPassedOnAndTakenIn() {
        var overlay = machine(neighbours: 4)
        let made = overlay.received(LinkID(1), .neighbour(.join, soft: 0), nowMs: 1)
        let walks = [2, 3, 4].map { number in
            Overlay.Action.send(LinkID(number), .forwardJoin(place(1), hops: Overlay.joinHops))
        }
        #expect(made == walks)
        let madeAgain = overlay.received(LinkID(1), .neighbour(.join, soft: 0), nowMs: 1)
        #expect(madeAgain.isEmpty)
        let onward = overlay.received(LinkID(2), .forwardJoin(place(70), hops: 3), nowMs: 1)
        guard case .send(let next, .forwardJoin(place(70), hops: 2))? = onward.first, onward.count == 1 else {
            Issue.record("\(onward)")
            return
        }
        #expect(next != LinkID(2))
        #expect(overlay.passive.map(\.address) == [place(70)])
        let tooSoon = overlay.received(LinkID(2), .forwardJoin(place(71), hops: 1), nowMs: 2)
        #expect(tooSoon.isEmpty)
        let end = overlay.received(LinkID(2), .forwardJoin(place(71), hops: 1), nowMs: 200)
        #expect(dialled(end) == [place(71)])
        let isPressing = overlay.up(LinkID(71), key(71), nowMs: 201) == .high
        #expect(isPressing)
    }

    @Test func aShuffleWalksAndItsAnswerComesBack() {
        var overlay = machine(neighbours: 2)
        overlay.learn([place(80), place(81)])
        let onward = overlay.received(LinkID(1), .shuffle(origin: key(1), hops: 3, [place(90)]), nowMs: 1)
        #expect(onward == [.send(LinkID(2), .shuffle(origin: key(1), hops: 2, [place(90), place(1)]))])
        let back = overlay.received(LinkID(2), .shuffle(origin: key(1), hops: 0, [place(91)]), nowMs: 2)
        #expect(back == [.send(LinkID(1), .shuffle(origin: key(1), hops: 0, [place(91)]))])
        // Nothing of it is meant for this node; and an answer nobody waits for goes nowhere.
        #expect(Set(overlay.passive.map(\.address)) == [place(80), place(81)])
        let isDropped = overlay.received(LinkID(2), .shuffle(origin: key(1), hops: 0, [place(92)]), nowMs: 3).isEmpty
        #expect(isDropped)

        let end = overlay.received(LinkID(1), .shuffle(origin: key(9), hops: 1, [place(90)]), nowMs: 400)
        guard case .send(LinkID(1), .shuffle(let origin, hops: 0, let answer))? = end.first else {
            Issue.record("\(end)")
            return
        }
        #expect(origin == key(9) && answer.count == 1)
        #expect(overlay.passive.contains { $0.address == place(90) })
        _ = overlay.received(LinkID(1), .shuffle(origin: key(0), hops: 0, [place(93)]), nowMs: 401)
        #expect(overlay.passive.contains { $0.address == place(93) })
    }

    @Test func thePassiveViewIsBounded() {
        var overlay = machine(neighbours: 2)
        for number in 3..<200 { overlay.learn([place(number)]) }
        overlay.learn([place(1), place(0)])
        #expect(overlay.passive.count == Overlay.passiveMax)
        #expect(!overlay.passive.contains { [key(0), key(1)].contains($0.address.node) })
        for number in 0..<500 {
            let origin = Bytes32(repeating: UInt8(truncatingIfNeeded: number))
            _ = overlay.received(LinkID(1), .shuffle(origin: origin, hops: 4, []), nowMs: UInt64(number) * 1000)
        }
        #expect(overlay.routes.count <= Overlay.routesMax)
    }
}

/// Plumtree's part of the machine: what is announced, and asked for.
@Suite struct DisseminationTests {
    private func reference(_ number: UInt64) -> EntryReference {
        EntryReference(hlc: HLC(ms: number), idPrefix: number)
    }

    private func grafts(_ machine: inout Dissemination, _ nowMs: UInt64, up: Set<Int> = [1, 2, 3]) -> [[UInt64]] {
        let asks = machine.grafts(
            nowMs: nowMs, isUp: { up.contains($0.rawValue) }, waitMs: { _ in 0 }, claimedUntilMs: { _ in 0 },
            isHere: { _ in false })
        return asks.map { [UInt64($0.link.rawValue)] + $0.references.map(\.idPrefix) }
    }

    @Test func whatIsOnlyAnnouncedIsAskedForOneAfterTheOther() {
        var machine = Dissemination()
        machine.announced([reference(7), reference(8)], by: LinkID(1), nowMs: 0)
        machine.announced([reference(7)], by: LinkID(2), nowMs: 10)
        let waits = grafts(&machine, 79).isEmpty
        #expect(waits)
        #expect(machine.nextDeadlineMs == 80)
        let asksTheFirst = grafts(&machine, 80) == [[1, 7, 8]]
        #expect(asksTheFirst)
        let waitsAgain = grafts(&machine, 119).isEmpty
        #expect(waitsAgain)
        let hasCome = machine.settled(reference(8))
        #expect(hasCome)
        let asksTheNext = grafts(&machine, 120) == [[2, 7]]
        #expect(asksTheNext)
        let givesUp = grafts(&machine, 160).isEmpty
        #expect(givesUp)
        #expect(machine.missing.isEmpty)
    }

    @Test func aLinkThatIsGoneIsNotAsked() {
        var machine = Dissemination()
        machine.announced([reference(7)], by: LinkID(1), nowMs: 0)
        machine.announced([reference(7)], by: LinkID(3), nowMs: 1)
        let asksWhoIsThere = grafts(&machine, 80, up: [3]) == [[3, 7]]
        #expect(asksWhoIsThere)
    }

    /// What a comparison has asked for is announced when it comes, but not pushed on; what was grafted is.
    @Test func whatIsPushedOn() {
        var machine = Dissemination()
        let (pushed, wanted, grafted) = (reference(1), reference(2), reference(3))
        machine.announced([grafted], by: LinkID(1), nowMs: 0)
        let isGrafted = grafts(&machine, 80) == [[1, 3]]
        #expect(isGrafted)
        let isPush = machine.arrived([pushed], asked: [], isSifting: false)
        #expect(isPush)
        let isAnswer = !machine.arrived([wanted, grafted], asked: [wanted, grafted], isSifting: false)
        #expect(isAnswer)
        let goOn = machine.settled(pushed) && !machine.settled(wanted) && machine.settled(grafted)
        #expect(goOn)
    }

    @Test func softStateIsAnnouncedOnceAndAskedForWhenItDoesNotCome() {
        var machine = Dissemination()
        machine.softArrived(5, holders: [LinkID(1)], nowMs: 0)
        machine.softArrived(6, holders: nil, nowMs: 0)
        machine.softAnnounced([5], by: LinkID(2), nowMs: 100)
        let news = machine.takeSoftNews(nowMs: Dissemination.softAnnounceMs)
        #expect(news.map(\.name) == [5] && news.first?.holders == [LinkID(1), LinkID(2)])
        let isOver = machine.takeSoftNews(nowMs: 99_999).isEmpty
        #expect(isOver)
        machine.softAnnounced([5, 6, 9, 10], by: LinkID(1), nowMs: 3000)
        machine.softArrived(10, holders: nil, nowMs: 3500)
        let asks = machine.softGrafts(nowMs: 4000) { _ in true }
        #expect(asks.map(\.link) == [LinkID(1)] && asks.first?.names == [9])
        #expect(machine.softMissing.count == 1)
        let givesUp = machine.softGrafts(nowMs: 5000) { _ in true }.isEmpty
        #expect(givesUp)
        #expect(machine.softMissing.isEmpty)
    }
}
