import Testing

@testable import Discovery

/// Announcing, and starting over after trouble.
struct DiscoveryMachineTests {
    @Test func itIsUpOnceTheAnnouncementIsConfirmed() {
        var driver = MachineDriver()
        driver.step(.start)
        var expected: [DiscoveryEvent] = [.state(.starting)]
        driver.expect(expected)
        driver.reply(driver.registration, .registered(name: Array("me".utf8)))
        expected = [.registered("me"), .state(.up)]
        driver.expect(expected)
    }

    @Test func anAbsentResponderIsOneStateHoweverOftenItIsTried() {
        var driver = MachineDriver()
        driver.isAbsent = true
        driver.step(.start)
        driver.advance(toMs: 500_000)
        let expected: [DiscoveryEvent] = [.state(.down(.notRunning))]
        driver.expect(expected)
        #expect(driver.open.isEmpty)

        driver.isAbsent = false
        while driver.open.isEmpty, driver.tick(untilMs: 572_000) {}
        driver.expect([.state(.starting)])
        #expect(driver.open.count == 2)
    }

    /// As one that is configured not to publish. It is no reason to say that Avahi is not there.
    @Test(arguments: [false, true]) func aRefusedAnnouncementIsToldFromAnAbsentResponder(isLater: Bool) {
        var driver = MachineDriver()
        var expected: [DiscoveryEvent] = [.state(.down(.refused))]
        if isLater {
            driver.start()
            driver.isRefusing = true
            driver.step(.updatePort(2_000))
            expected = [.state(.starting), .registered("me"), .state(.up)] + expected
        } else {
            driver.isRefusing = true
            driver.step(.start)
        }
        driver.advance(toMs: 100_000)
        driver.expect(expected)
        #expect(driver.open.isEmpty)
        driver.isAbsent = true
        driver.advance(toMs: 200_000)
        driver.expect([.state(.down(.notRunning))])
        (driver.isAbsent, driver.isRefusing) = (false, false)
        while driver.open.isEmpty, driver.tick(untilMs: 300_000) {}
        driver.expect([.state(.starting)])
    }

    @Test func attemptsBackOff() {
        var driver = MachineDriver()
        driver.isAbsent = true
        driver.step(.start)
        var times: [Int64] = []
        var end: Int64 { driver.nowMs + 80_000 }
        for _ in 0..<4 {
            _ = driver.tick(untilMs: end)
            times.append(driver.nowMs)
        }
        // Every delay is at its lower bound plus 200 ms.
        #expect(times == [1_000, 2_800, 6_200, 12_800])
    }

    @Test(arguments: [false, true]) func aDeadReferenceFreesAllAndBeginsAnew(browserFirst: Bool) {
        var driver = MachineDriver()
        driver.start()
        driver.reply(driver.browser, .browsed(isAdded: true, key("a")))
        #expect(driver.resolver(key("a")) != nil)
        driver.nowMs = 20_000
        _ = driver.takeEvents()
        let former = Set(driver.open.keys)
        driver.reply(browserFirst ? driver.browser : driver.registration, .broken)
        #expect(driver.open.isEmpty)
        driver.expect([.state(.down(.notRunning))])
        for id in former {
            driver.step(.reply(id, .broken))
        }
        driver.expect([])

        driver.advance(toMs: 21_000)
        #expect(driver.open.count == 2)
        #expect(former.isDisjoint(with: driver.open.keys))
        driver.reply(driver.registration, .registered(name: Array("me".utf8)))
        let expected: [DiscoveryEvent] = [.state(.starting), .registered("me"), .state(.up)]
        driver.expect(expected)
    }

    @Test func aResponderThatFlapsIsLeftAloneLongerAndLonger() {
        var driver = MachineDriver()
        driver.start()
        for delay: Int64 in [1_000, 1_800, 3_400] {
            driver.reply(driver.browser, .broken)
            let began = driver.nowMs
            _ = driver.tick(untilMs: .max)
            #expect(driver.nowMs - began == delay)
            driver.reply(driver.registration, .registered(name: Array("me".utf8)))
        }
        driver.nowMs += DiscoveryMachine.stableAfterMs
        driver.reply(driver.browser, .broken)
        #expect(driver.machine.nextMs == driver.nowMs + 1_000)
    }

    @Test func aSilentRegistrationIsTriedAnew() {
        var driver = MachineDriver()
        driver.step(.start)
        driver.advance(toMs: 9_999)
        #expect(driver.registration != nil)
        driver.advance(toMs: 10_000)
        #expect(driver.open.isEmpty)
        let expected: [DiscoveryEvent] = [.state(.starting), .state(.down(.notRegistering))]
        driver.expect(expected)
        driver.advance(toMs: 11_000)
        #expect(driver.registration != nil)
    }

    @Test func theTimeOfTheCallItselfDoesNotCountAgainstTheRegistration() throws {
        var driver = MachineDriver()
        let effects = driver.machine.step(.start, nowMs: 0, random: 0)
        guard case .open(let id, .register) = effects.first else {
            Issue.record("no registration: \(effects)")
            return
        }
        driver.nowMs = 24_000
        driver.step(.reply(id, .opened))
        driver.step(.tick)
        driver.expect([.state(.starting)])
    }

    @Test func aCallThatHangsSaysThatAvahiDoesNotAnswer() {
        var driver = MachineDriver()
        driver.start()
        _ = driver.takeEvents()
        driver.reply(driver.browser, .failed(afterMs: 25_000))
        driver.expect([.state(.down(.notAnswering))])
        #expect(driver.open.isEmpty)
    }

    @Test func rebuildDoesNotWaitForTheBackOff() {
        var driver = MachineDriver()
        driver.isAbsent = true
        driver.step(.start)
        driver.advance(toMs: 100_000)
        driver.isAbsent = false
        driver.step(.rebuild)
        #expect(driver.open.count == 2)
        driver.isAbsent = true
        driver.reply(driver.browser, .broken)
        #expect(driver.machine.nextMs == driver.nowMs + 1_000)
    }

    @Test func rebuildReplacesEveryReference() {
        var driver = MachineDriver()
        driver.start()
        driver.reply(driver.browser, .browsed(isAdded: true, key("a")))
        let former = Set(driver.open.keys)
        driver.step(.rebuild)
        #expect(former.count == 3)
        #expect(driver.open.count == 2)
        #expect(former.isDisjoint(with: driver.open.keys))
    }

    @Test func aPortIsAnnouncedAnewAndATXTRecordUpdated() {
        var driver = MachineDriver()
        driver.step(.start)
        driver.step(.updateTXT([1, 2]))
        #expect(driver.updates.isEmpty)
        driver.reply(driver.registration, .registered(name: Array("me".utf8)))
        #expect(driver.updates == [[1, 2]])

        let former = driver.registration
        driver.step(.updatePort(1_000))
        #expect(driver.registration == former)
        driver.step(.updatePort(2_000))
        #expect(driver.registration != former)
        let request = driver.registration.flatMap { driver.open[$0] }
        #expect(request == .register(name: Array("me".utf8), port: 2_000, txt: [1, 2]))
        #expect(driver.updates == [[1, 2]])
    }

    @Test func withNobodyConnectedItLooksAgain() {
        var driver = MachineDriver()
        driver.start()
        let former = driver.browser
        driver.advance(toMs: 29_999)
        #expect(driver.browser == former)
        driver.advance(toMs: 30_000)
        let second = driver.browser
        #expect(second != former)
        driver.step(.setConnected(true))
        driver.advance(toMs: 10_000_000)
        #expect(driver.browser == second)
    }

    @Test func aResponderThatSaysNothingIsAskedWhetherItIsThere() {
        var driver = MachineDriver()
        driver.start()
        driver.step(.setConnected(true))
        _ = driver.takeEvents()
        let first = DiscoveryMachine.probeIntervalMs
        #expect(driver.machine.nextMs == DiscoveryMachine.confirmationTimeoutMs)
        driver.advance(toMs: first - 1)
        let former = Set(driver.open.keys)
        driver.advance(toMs: first)
        // It was answered at once, and nothing is left of it.
        #expect(Set(driver.open.keys) == former && driver.openMax == former.count + 1)
        driver.expect([])
        // What it says by itself is as good.
        driver.nowMs = first + 5_000
        driver.reply(driver.browser, .browsed(isAdded: false, key("a")))
        #expect(driver.machine.nextMs == driver.nowMs + first)
        driver.isAbsent = true
        driver.advance(toMs: driver.nowMs + first)
        driver.expect([.state(.down(.notRunning))])
        #expect(driver.open.isEmpty)
    }

    @Test func aProbeThatHangsSaysThatAvahiDoesNotAnswer() throws {
        var driver = MachineDriver()
        driver.start()
        _ = driver.takeEvents()
        driver.advance(toMs: DiscoveryMachine.probeIntervalMs - 1)
        let effects = driver.machine.step(.tick, nowMs: DiscoveryMachine.probeIntervalMs, random: 0)
        guard case .open(let id, .browse) = effects.last else {
            Issue.record("no probe: \(effects)")
            return
        }
        driver.nowMs = DiscoveryMachine.probeIntervalMs + 25_000
        driver.step(.reply(id, .failed(afterMs: 25_000)))
        driver.expect([.state(.down(.notAnswering))])
        #expect(driver.open.isEmpty)
    }
}
