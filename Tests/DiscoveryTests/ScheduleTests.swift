import Testing

@testable import Discovery

struct ScheduleTests {
    @Test func delaysDoubleUpToAMinute() {
        var backOff = BackOff()
        let middles: [Int64] = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
        for middle in middles {
            var (low, high, any) = (backOff, backOff, backOff)
            let spread = middle / 5
            let bounds = [low.nextMs(random: 0), high.nextMs(random: UInt64(2 * spread))]
            #expect(bounds == [middle - spread, middle + spread])
            let delay = any.nextMs(random: .random(in: .min ... .max))
            #expect((middle - spread...middle + spread).contains(delay))
            backOff = any
        }
        backOff.reset()
        let first = backOff.nextMs(random: 200)
        #expect(first == 1_000)
    }

    @Test func looksAreRepeatedEverMoreRarely() {
        var schedule = RescanSchedule()
        schedule.setConnected(false, nowMs: 0)
        var times: [Int64] = []
        while times.count < 7, let next = schedule.nextMs {
            let isDue = [schedule.isDue(nowMs: next - 1), schedule.isDue(nowMs: next)]
            #expect(isDue == [false, true])
            times.append(next / 1_000)
        }
        let expected: [Int64] = [30, 90, 210, 510, 1_110, 1_710, 2_310]
        #expect(times == expected)
    }

    @Test func aConnectionEndsThemAndItsEndBeginsAgain() {
        var schedule = RescanSchedule()
        schedule.setConnected(false, nowMs: 0)
        let isDue = schedule.isDue(nowMs: 30_000)
        #expect(isDue)
        schedule.setConnected(false, nowMs: 40_000)
        #expect(schedule.nextMs == 90_000)
        schedule.setConnected(true, nowMs: 50_000)
        #expect(schedule.nextMs == nil)
        schedule.setConnected(false, nowMs: 60_000)
        #expect(schedule.nextMs == 90_000)
    }
}

struct ServiceTableTests {
    private let key = ServiceKey(interfaceIndex: 2, name: [0x61], type: [0x62], domain: [0x63])

    @Test func referencesAreCounted() {
        var table = ServiceTable()
        let first = table.add(key)
        let second = table.add(key)
        #expect(first && !second)
        let wasLast = (0..<3).map { _ in table.remove(key) != nil }
        #expect(wasLast == [false, true, false])
        #expect(table[key] == nil)
    }

    @Test func interfacesAndDomainsAreToldApart() {
        var table = ServiceTable()
        var (otherInterface, otherDomain) = (key, key)
        otherInterface.interfaceIndex = 3
        otherDomain.domain = [0x64]
        let areNew = [key, otherInterface, otherDomain].map { table.add($0) }
        #expect(areNew == [true, true, true])
        #expect(table.keys(named: [0x61]) == [key, otherInterface, otherDomain])
    }

    @Test func aNewBrowseConfirmsOrRemoves() {
        var table = ServiceTable()
        var other = key
        other.name = [0x7a]
        _ = (table.add(key), table.add(key), table.add(other))
        table.unconfirmAll()
        let isFirst = table.add(key)
        #expect(isFirst)
        let gone = table.removeUnconfirmed().map(\.key)
        #expect(gone == [other])
        // The old browse's second reference does not count any more.
        let wasLast = table.remove(key) != nil
        #expect(wasLast)
    }

    @Test func floodsAreBounded() {
        var table = ServiceTable()
        for number in 0..<UInt32(ServiceTable.countMax + 10) {
            var key = key
            key.interfaceIndex = number
            _ = table.add(key)
        }
        #expect(table.keys { _ in true }.count == ServiceTable.countMax)
    }
}
