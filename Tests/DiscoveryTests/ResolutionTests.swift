import Testing

@testable import Discovery

/// From what browsing reports to sightings.
struct ResolutionTests {
    private let ipv4: [UInt8] = [10, 0, 0, 1]
    private let linkLocal: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
    private let unique: [UInt8] = [0xfd, 0x80] + [UInt8](repeating: 0, count: 13) + [1]

    private func startedDriver(_ keys: ServiceKey...) -> MachineDriver {
        var driver = MachineDriver()
        driver.start()
        for key in keys {
            driver.reply(driver.browser, .browsed(isAdded: true, key))
        }
        _ = driver.takeEvents()
        return driver
    }

    @Test func bothFamiliesMakeOneSighting() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [ipv4, linkLocal])
        let found = sighting("a", [.init(bytes: ipv4), .init(bytes: linkLocal, scopeID: 2)])
        driver.expect([found])
        driver.advance(toMs: 4_000)
        driver.expect([])
        #expect(driver.open.count == 2)
    }

    @Test func onlyLinkLocalAddressesHaveAScope() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [unique])
        driver.advance(toMs: 1_000)
        driver.expect([sighting("a", [.init(bytes: unique)])])
    }

    @Test func oneFamilyIsReportedEarlyAndTheOtherWhenItComes() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [ipv4])
        driver.expect([])
        driver.advance(toMs: DiscoveryMachine.secondFamilyMs)
        driver.expect([sighting("a", [.init(bytes: ipv4)])])
        driver.advance(toMs: 1_000)
        driver.reply(driver.query(.ipv6), .address(unique))
        driver.expect([sighting("a", [.init(bytes: ipv4), .init(bytes: unique)])])
        driver.advance(toMs: 4_000)
        #expect(driver.open.count == 2)
    }

    @Test func aHostOfOneFamilyDoesNotWaitForEver() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [ipv4])
        driver.advance(toMs: DiscoveryMachine.queryTimeoutMs)
        #expect(driver.open.count == 2)
        driver.expect([sighting("a", [.init(bytes: ipv4)])])
    }

    @Test func aSecondReportOfTheSameIsNotResolvedTwiceAndOneRemovalIsNotTheLast() {
        var driver = startedDriver(key("a"), key("a"))
        driver.answer(key("a"), [ipv4, unique])
        driver.advance(toMs: 1_000)
        _ = driver.takeEvents()
        driver.reply(driver.browser, .browsed(isAdded: false, key("a")))
        driver.expect([])
        driver.reply(driver.browser, .browsed(isAdded: false, key("a")))
        driver.expect([.lost("a")])
    }

    @Test func anInstanceIsLostWhenNoInterfaceShowsIt() {
        var driver = startedDriver(key("a", 2), key("a", 3))
        for interface: UInt32 in [2, 3] {
            driver.answer(key("a", interface), [ipv4, linkLocal])
            driver.advance(toMs: driver.nowMs + 500)
        }
        let scopes = driver.takeEvents().compactMap { event in
            if case .found(let sighting) = event { sighting.addresses.last?.scopeID } else { nil }
        }
        #expect(scopes == [2, 3])
        driver.reply(driver.browser, .browsed(isAdded: false, key("a", 2)))
        driver.expect([])
        driver.reply(driver.browser, .browsed(isAdded: false, key("a", 3)))
        driver.expect([.lost("a")])
    }

    @Test func whatGoesWhileBeingResolvedFreesItsReferences() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [])
        #expect(driver.open.count == 4)
        driver.reply(driver.browser, .browsed(isAdded: false, key("a")))
        #expect(driver.open.count == 2)
        driver.expect([])
    }

    @Test func resolvingAgainReportsEvenWhatIsUnchangedAndANewPort() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [ipv4, unique])
        driver.advance(toMs: 1_000)
        _ = driver.takeEvents()
        for port: UInt16 in [5, 6] {
            driver.step(.resolveAgain("a"))
            driver.answer(key("a"), port: port, [ipv4, unique])
            driver.advance(toMs: driver.nowMs + 1_000)
            let found = sighting("a", [.init(bytes: ipv4), .init(bytes: unique)], port: port)
            driver.expect([found])
        }
        driver.step(.resolveAgain("unknown"))
        #expect(driver.open.count == 2)
    }

    @Test func resolvingAgainWhileAddressesComeInIsDoneAfterwards() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [ipv4, unique])
        driver.step(.resolveAgain("a"))
        #expect(driver.resolver(key("a")) == nil)
        driver.advance(toMs: DiscoveryMachine.furtherAddressesMs)
        driver.answer(key("a"), port: 6, [ipv4, unique])
        driver.advance(toMs: 1_000)
        let addresses = [Sighting.Address(bytes: ipv4), Sighting.Address(bytes: unique)]
        driver.expect([sighting("a", addresses), sighting("a", addresses, port: 6)])
        #expect(driver.open.count == 2)
    }

    @Test(arguments: [DiscoveryMachine.Reply.broken, .failed(afterMs: 3)])
    func whatCannotBeResolvedConcernsNobodyElse(reply: DiscoveryMachine.Reply) {
        var driver = startedDriver(key("bad"), key("good"))
        let registration = driver.registration
        driver.reply(driver.resolver(key("bad")), reply)
        driver.answer(key("good"), [ipv4, unique])
        driver.expect([sighting("good", [.init(bytes: ipv4), .init(bytes: unique)])])
        #expect(driver.registration == registration)
    }

    @Test func aCallThatHangsWhileResolvingConcernsAll() {
        var driver = startedDriver(key("a"))
        driver.reply(driver.resolver(key("a")), .failed(afterMs: 25_000))
        #expect(driver.open.isEmpty)
        driver.expect([.state(.down(.notAnswering))])
    }

    @Test func failuresAreRetriedEverMoreRarely() {
        var driver = startedDriver(key("a"))
        driver.step(.setConnected(true))
        var delays: [Int64] = []
        for _ in 0..<10 {
            driver.reply(driver.resolver(key("a")), .broken)
            let began = driver.nowMs
            while driver.resolver(key("a")) == nil, driver.tick(untilMs: .max) {}
            delays.append((driver.nowMs - began) / 1_000)
        }
        #expect(delays == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
        driver.answer(key("a"), [ipv4, unique])
        driver.expect([sighting("a", [.init(bytes: ipv4), .init(bytes: unique)])])
    }

    @Test(arguments: [
        DiscoveryMachine.Reply.resolved(host: Array("h.local.".utf8), port: 0, txt: []),
        .resolved(host: [], port: 5, txt: []),
        .resolved(host: Array("h.local.".utf8), port: 5, txt: [UInt8](repeating: 0, count: 401)),
        .resolved(host: Array("h.local.".utf8), port: 5, txt: [9]),
    ]) func nonsenseIsNotReported(reply: DiscoveryMachine.Reply) {
        var driver = startedDriver(key("a"))
        driver.reply(driver.resolver(key("a")), reply)
        #expect(driver.open.count == 2)
        driver.expect([])
    }

    @Test func addressesAreCheckedAndBounded() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [])
        let query = driver.query(.ipv4)
        driver.reply(query, .address([1, 2, 3]))
        driver.reply(query, .address([]))
        for number in 0..<40 {
            driver.reply(query, .address([10, 0, 0, UInt8(number / 2)]))
        }
        driver.advance(toMs: 2_000)
        let sizes = driver.takeEvents().map { event in
            if case .found(let sighting) = event { sighting.addresses.count } else { 0 }
        }
        #expect(sizes == [Answer.addressesMax])
    }

    @Test func namesAreEscapedLosslessly() {
        #expect(DiscoveryEvent.escape(Array("a b\\\u{1b}[2J\né".utf8)) == "a b\\x5c\\x1b[2J\\x0a\\xc3\\xa9")
        #expect(DiscoveryEvent.escape([0xff, 0x00]) == "\\xff\\x00")
        // The Kelvin sign and K are equal as Swift strings, but not the same name.
        #expect(DiscoveryEvent.escape(Array("\u{212a}".utf8)) != DiscoveryEvent.escape(Array("K".utf8)))
    }

    @Test func itsOwnAnnouncementIsNotASighting() {
        let driver = startedDriver(key("me"), key("me", 1))
        #expect(driver.open.count == 2)
    }

    @Test func theRegisteredNameDecidesWhatIsItsOwn() {
        var driver = MachineDriver()
        driver.step(.start)
        for name in ["me", "me #2"] {
            driver.reply(driver.browser, .browsed(isAdded: true, key(name)))
        }
        #expect(driver.resolver(key("me")) == nil)
        driver.answer(key("me #2"), [ipv4, unique])
        driver.reply(driver.registration, .registered(name: Array("me #2".utf8)))
        #expect(driver.resolver(key("me")) != nil)
        let expected: [DiscoveryEvent] = [
            .state(.starting), sighting("me #2", [.init(bytes: ipv4), .init(bytes: unique)]), .registered("me #2"),
            .lost("me #2"), .state(.up),
        ]
        driver.expect(expected)
    }

    @Test func fewReferencesAreOpenHoweverManyAreFound() {
        var driver = MachineDriver()
        driver.start()
        for number in 0..<300 {
            driver.reply(driver.browser, .browsed(isAdded: true, key("n\(number)")))
        }
        var found = Set<String>()
        for _ in 0..<300 {
            for (id, request) in driver.open.sorted(by: { $0.key < $1.key }) {
                switch request {
                case .resolve: driver.reply(id, .resolved(host: Array("h.local.".utf8), port: 5, txt: []))
                case .query(_, _, let family): driver.reply(id, .address(family == .ipv4 ? ipv4 : unique))
                case .register, .browse: break
                }
            }
            driver.advance(toMs: driver.nowMs + 100)
            for case .found(let sighting) in driver.takeEvents() {
                found.insert(sighting.instance)
            }
        }
        #expect(found.count == 300)
        #expect(driver.openMax == 2 + RefPool.sizeMax)
        #expect(driver.open.count == 2)
    }

    @Test func aNewBrowseResolvesAfreshAndReportsWhatIsGone() {
        var driver = startedDriver(key("stays"), key("goes"))
        for name in ["stays", "goes"] {
            driver.answer(key(name), [ipv4, unique])
            driver.advance(toMs: driver.nowMs + 500)
        }
        _ = driver.takeEvents()
        driver.step(.rescan)
        driver.reply(driver.browser, .browsed(isAdded: true, key("stays")))
        driver.answer(key("stays"), [ipv4, unique])
        driver.expect([sighting("stays", [.init(bytes: ipv4), .init(bytes: unique)])])
        driver.advance(toMs: driver.nowMs + DiscoveryMachine.confirmationTimeoutMs)
        driver.expect([.lost("goes")])
    }

    @Test func aRestartOfTheResponderFindsTheSameAgainWithoutALoss() {
        var driver = startedDriver(key("a"))
        driver.answer(key("a"), [ipv4, unique])
        driver.advance(toMs: 20_000)
        _ = driver.takeEvents()
        driver.reply(driver.browser, .broken)
        driver.advance(toMs: 21_000)
        driver.reply(driver.registration, .registered(name: Array("me".utf8)))
        driver.reply(driver.browser, .browsed(isAdded: true, key("a")))
        driver.answer(key("a"), [ipv4, unique])
        driver.advance(toMs: 29_000)
        let expected: [DiscoveryEvent] = [
            .state(.down(.notRunning)), .state(.starting), .registered("me"), .state(.up),
            sighting("a", [.init(bytes: ipv4), .init(bytes: unique)]),
        ]
        driver.expect(expected)
    }

    @Test func anyOrderOfInputsKeepsWithinBounds() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var driver = MachineDriver()
        driver.step(.start)
        for round in 0..<3_000 {
            let ids = driver.open.keys.sorted()
            let id = ids.randomElement(using: &random)
            let name = ["a", "b", "me", "me #2"].randomElement(using: &random) ?? ""
            let key = key(name, UInt32.random(in: 1...3, using: &random))
            let replies: [DiscoveryMachine.Reply] = [
                .opened, .broken, .failed(afterMs: 0), .failed(afterMs: 9_999), .registered(name: key.name),
                .browsed(isAdded: true, key), .browsed(isAdded: true, key), .browsed(isAdded: false, key),
                .resolved(host: key.name, port: 7, txt: []), .address(ipv4), .address(unique),
            ]
            switch Int.random(in: 0..<20, using: &random) {
            case 0: driver.step(.rescan)
            case 1: driver.step(.rebuild)
            case 2: driver.step(.setConnected(.random(using: &random)))
            case 3: driver.step(.resolveAgain(name))
            case 4: driver.step(.updatePort(.random(in: 1...9, using: &random)))
            case 5: driver.step(.updateTXT([.random(in: 0...9, using: &random)]))
            case 6: driver.isAbsent.toggle()
            case 7...9: _ = driver.tick(untilMs: .max)
            default: driver.reply(id, replies.randomElement(using: &random) ?? .broken)
            }
            #expect(driver.openMax <= 3 + RefPool.sizeMax, "seed \(seed), round \(round)")
            #expect(driver.open.keys.allSatisfy { driver.machine.holds($0) }, "seed \(seed), round \(round)")
        }
        // Whatever happened, it comes up again and finds.
        driver.isAbsent = false
        driver.step(.rebuild)
        driver.reply(driver.registration, .registered(name: Array("me".utf8)))
        _ = driver.takeEvents()
        driver.reply(driver.browser, .browsed(isAdded: true, self.key("new")))
        driver.answer(self.key("new"), [ipv4, unique])
        driver.expect([sighting("new", [.init(bytes: ipv4), .init(bytes: unique)])], "seed \(seed)")
    }

    private func key(_ name: String, _ interfaceIndex: UInt32 = 2) -> ServiceKey {
        DiscoveryTests.key(name, interfaceIndex)
    }
}
