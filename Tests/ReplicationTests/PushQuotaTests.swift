@testable import Replication
import Seal
import Testing
import Tree

@Suite struct PushQuotaTests {
    private static let limits = PushQuota.Limits(burst: 10, rate: 5)

    private func bundle(_ count: Int, by key: SigningKey, bytes: Int = 1) throws -> Bundle {
        let entries = try (0..<count).map { number in
            try Entry(
                path: Path(parsing: "a/\(number)"), hlc: HLC(ms: UInt64(number + 1)), author: key.publicKey,
                value: .string(String(repeating: "x", count: bytes)))
        }
        return Bundle(signing: entries, by: key, workspace: .zero)
    }

    private let peer = SigningKey(seed: Bytes32(repeating: 3))

    /// Which of some bundles are taken, one after the other.
    private func taken(
        _ pushes: [(bundle: Bundle, atMs: UInt64)], _ quota: inout PushQuota, isAlone: Bool = false
    ) -> [Bool] {
        pushes.map { quota.takes($0.bundle, from: peer.publicKey, Self.limits, isAlone: isAlone, nowMs: $0.atMs) }
    }

    /// While nobody else writes everything passes; whoever comes then finds the quota used up.
    @Test func aloneEverythingPassesAndCounts() throws {
        let key = SigningKey()
        var quota = PushQuota()
        for (four, isRelayed) in [(try bundle(4, by: key), true), (try bundle(4, by: peer), false)] {
            let author = four.author
            #expect(!quota.isMuch(of: author, Self.limits, nowMs: 1000))
            let alone = taken([(four, 1000), (four, 1000), (four, 1000), (four, 1000)], &quota, isAlone: true)
            #expect(alone == [true, true, true, true])
            #expect(quota.holdMs(of: author, Self.limits, nowMs: 1000) == 0)
            #expect(taken([(four, 1000)], &quota) == [!isRelayed])
            #expect(quota.isMuch(of: author, Self.limits, nowMs: 1000))
            #expect(!quota.isMuch(of: author, Self.limits, nowMs: 3000))
        }
        #expect(quota.delayedCount == 8)
    }

    /// What the peer has written himself is always taken; then his link waits until his quota is no longer exceeded.
    @Test func whoWritesTooMuchHimselfIsHeldUp() throws {
        var quota = PushQuota()
        func holdMs(_ nowMs: UInt64) -> Int64 { quota.holdMs(of: peer.publicKey, Self.limits, nowMs: nowMs) }
        #expect(holdMs(1000) == 0)
        let (ten, five) = (try bundle(10, by: peer), try bundle(5, by: peer))
        #expect(taken([(ten, 1000)], &quota) == [true] && holdMs(1000) == 0)
        #expect(taken([(five, 1000)], &quota) == [true] && holdMs(1000) == 1000)
        #expect(holdMs(1400) == 600 && holdMs(2000) == 0 && holdMs(9000) < 0)
        // However much it is, it is no longer than a whole quota takes.
        for _ in 0..<10 { #expect(taken([(ten, 2000)], &quota) == [true]) }
        #expect(holdMs(2000) == 2000 && quota.delayedCount > 0)
        // What he passes on for others has a quota of its own.
        #expect(taken([(try bundle(10, by: SigningKey()), 2000)], &quota) == [true] && holdMs(2000) == 2000)
    }

    @Test func aBurstPassesAndThenTheRate() throws {
        let key = SigningKey()
        var quota = PushQuota()
        let (four, one, ten) = (try bundle(4, by: key), try bundle(1, by: key), try bundle(10, by: key))
        let burst = taken([(four, 1000), (four, 1000), (four, 1000), (four, 1000)], &quota)
        #expect(burst == [true, true, false, false] && quota.delayedCount == 8)
        // The rest of the burst, and the others, pass all the same.
        let rest = taken([(one, 1000), (one, 1000), (one, 1199)], &quota)
        #expect(rest == [true, true, false])
        let others = taken([(try bundle(10, by: SigningKey()), 1199), (one, 1200)], &quota)
        #expect(others == [true, true])
        // Time that goes back gives nothing, and the longest time no more than a burst.
        let odd = taken([(one, 0), (ten, .max), (one, .max)], &quota)
        #expect(odd == [false, true, false])
    }

    @Test func bytesCountAndWhatIsLargerThanAQuotaPassesOnce() throws {
        var quota = PushQuota()
        let large = try bundle(1, by: SigningKey(), bytes: 512 * 20)
        let passed = taken([(large, 1000), (large, 2000), (large, 3000)], &quota)
        #expect(passed == [true, false, true])
    }

    /// Whoever invents authors shares one quota among the last of them.
    @Test func authorsAreBounded() throws {
        var quota = PushQuota()
        let pushes = try (0..<(PushQuota.authorsMax + 100)).map { number in
            let key = SigningKey(seed: BLAKE2b.hash([UInt8(number % 256), UInt8(number / 256)]))
            return (bundle: try bundle(1, by: key), atMs: UInt64(1000))
        }
        let count = taken(pushes, &quota).count { $0 }
        #expect(count == PushQuota.authorsMax + Int(Self.limits.burst))
    }
}
