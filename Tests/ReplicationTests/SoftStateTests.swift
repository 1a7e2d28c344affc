import Seal
import Store
import Testing
import Tree
import Wire

@testable import Replication

@Suite struct SoftStateTests {
    private let workspace = Bytes32(repeating: 7)
    private let nowMs: UInt64 = 1_000_000
    private let workspaceMs: UInt64 = 1_800_000_000_000

    private func key(_ number: Int) -> SigningKey {
        SigningKey(seed: BLAKE2b.hash(Array("author \(number)".utf8)))
    }

    private func record(
        _ key: SigningKey, _ channel: Int = 0, ms: UInt64? = nil, ttlMs: UInt64 = 6000
    ) throws -> SoftRecord {
        let cid = AutoID(hlc: HLC(ms: UInt64(channel)), author: key.publicKey).text
        let path = try Path(parsing: "channels/\(cid)/typingIndicator/\(UID.text(key.publicKey))")
        return SoftRecord(
            signing: path, value: .bool(true), hlc: HLC(ms: ms ?? workspaceMs), ttlMs: ttlMs, instance: 1, by: key,
            workspace: workspace)
    }

    /// The count that is kept is that of a recount, whatever comes and ends.
    @Test func liveAuthorsAreCounted() throws {
        var soft = SoftState()
        var random = SmallGenerator(seed: 5)
        var ms = workspaceMs
        for step in 0..<400 {
            let key = key(Int.random(in: 0..<6, using: &random))
            let channel = Int.random(in: 0..<3, using: &random)
            let monotonicMs = nowMs + UInt64(step) * 500
            ms += 500
            let ttlMs: UInt64 = Int.random(in: 0..<4, using: &random) == 0 ? 0 : 6000
            let record = try record(key, channel, ms: ms, ttlMs: ttlMs)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: _ = soft.expire(nowMs: monotonicMs)
            case 2: _ = soft.forget(key.publicKey)
            case 1: _ = soft.end(author: key.publicKey, path: record.path, notAfter: record.hlc, nowMs: monotonicMs)
            default: _ = soft.insert(record, nowMs: monotonicMs, workspaceMs: ms)
            }
            #expect(soft.liveAuthorCount == soft.liveAuthors.count)
            #expect(soft.firstLiveAuthor == soft.liveAuthors.first)
            #expect(soft.liveAuthors.allSatisfy { soft.isLive($0) })
        }
        #expect(soft.liveAuthorCount > 0)
    }

    @Test func aRecordLivesItsTimeAndTheGreaterTimeWins() throws {
        var soft = SoftState()
        let key = key(1)
        let first = try record(key)
        let isTaken = soft.insert(first, nowMs: nowMs, workspaceMs: workspaceMs)
        #expect(isTaken)
        let isTakenAgain = soft.insert(first, nowMs: nowMs + 1000, workspaceMs: workspaceMs)
        #expect(!isTakenAgain)
        let refreshed = try record(key, ms: workspaceMs + 3000)
        let isRefreshed = soft.insert(refreshed, nowMs: nowMs + 3000, workspaceMs: workspaceMs + 3000)
        #expect(isRefreshed)
        let early = soft.expire(nowMs: nowMs + 8999)
        #expect(early.isEmpty)
        #expect(soft.live == [refreshed])
        let over = soft.expire(nowMs: nowMs + 9000 + SoftState.expiryMs)
        #expect(over == [refreshed])
        #expect(soft.live.isEmpty && soft.nextDeadlineMs == nil)
        // Played back, it stays away.
        let isPlayedBack = soft.insert(refreshed, nowMs: nowMs + 20_000, workspaceMs: workspaceMs + 20_000)
        #expect(!isPlayedBack)
    }

    /// The deadline that is promised lets every record end, none before its time.
    @Test func recordsEndAtTheirDeadlines() throws {
        var soft = SoftState()
        for number in 0..<20 {
            let record = try record(key(number), ttlMs: UInt64(1000 + number * 37))
            let isTaken = soft.insert(record, nowMs: nowMs, workspaceMs: workspaceMs)
            #expect(isTaken)
        }
        var ended = 0
        while let deadline = soft.nextDeadlineMs {
            for record in soft.expire(nowMs: deadline) {
                #expect(nowMs + record.ttlMs <= deadline && deadline < nowMs + record.ttlMs + 2 * SoftState.expiryMs)
                ended += 1
            }
        }
        #expect(ended == 20)
    }

    /// A clock that was wrong for a while blocks its owner for no longer than a record could be played back.
    @Test func timesOutOfBoundsAreDropped() throws {
        var soft = SoftState()
        let key = key(1)
        let day: UInt64 = 24 * 3_600_000
        for ms in [workspaceMs - 66_001, workspaceMs + day + 1, HLC.msMax] {
            let isTaken = soft.insert(try record(key, ms: ms), nowMs: nowMs, workspaceMs: workspaceMs)
            #expect(!isTaken)
        }
        let isJustInBounds = soft.insert(
            try record(key, ms: workspaceMs + day - 1), nowMs: nowMs, workspaceMs: workspaceMs)
        #expect(isJustInBounds)
        _ = soft.expire(nowMs: nowMs + 7000)
        let right = try record(key, ms: workspaceMs + 80_000)
        let isRightTooEarly = soft.insert(right, nowMs: nowMs + 10_000, workspaceMs: workspaceMs + 80_000)
        #expect(!isRightTooEarly)
        let isRight = soft.insert(right, nowMs: nowMs + 80_000, workspaceMs: workspaceMs + 80_000)
        #expect(isRight)
    }

    @Test func oneAuthorHasFewPlaces() throws {
        var soft = SoftState()
        let key = key(1)
        var taken = 0
        for channel in 0..<100 {
            if soft.insert(try record(key, channel), nowMs: nowMs, workspaceMs: workspaceMs) { taken += 1 }
        }
        #expect(taken == SoftState.authorRecordsMax)
        #expect(soft.live(of: key.publicKey).count == taken)
        // What has ended makes room.
        _ = soft.expire(nowMs: nowMs + 7000)
        let hasRoom = soft.insert(try record(key, 200), nowMs: nowMs + 7000, workspaceMs: workspaceMs)
        #expect(hasRoom)
    }

    @Test func oneAuthorIsHeardSoOften() throws {
        var soft = SoftState()
        let key = key(1)
        _ = soft.insert(try record(key), nowMs: nowMs, workspaceMs: workspaceMs)
        let burst = (0..<1000).count { _ in soft.admit(author: key.publicKey, nowMs: nowMs) }
        #expect(burst == Int(SoftState.burstMax))
        let later = (0..<1000).count { _ in soft.admit(author: key.publicKey, nowMs: nowMs + 1000) }
        #expect(later == Int(SoftState.rateMax))
        let isOtherHeard = soft.admit(author: self.key(2).publicKey, nowMs: nowMs)
        #expect(isOtherHeard)
    }

    /// What is published after a restart is later than what was published before it.
    @Test func aRestartSpeaksLaterThanBefore() throws {
        let key = key(1)
        let greatest = HLC(ms: workspaceMs + 3_600_000)
        let clock = HybridClock(workspaceMs: workspaceMs, greatestStored: greatest, randomness: 99)
        var replicator = Replicator(
            workspace: workspace, key: key, instance: 2, clock: ClockEstimate(buildMs: 1), highWater: greatest,
            softAfter: clock.last)
        let moment = Moment(monotonicMs: nowMs, wallMs: workspaceMs, isSynchronised: true)
        replicator.start(moment)
        let path = try Path(parsing: "presence/\(UID.text(key.publicKey))")
        _ = try replicator.step(moment, .setSoft(path, .bool(true), ttlMs: 30_000, isRefreshed: true), MemoryStore())
        let said = try #require(replicator.soft.record(author: key.publicKey, path: path))
        #expect(said.hlc > clock.last && said.hlc > greatest)
        #expect(replicator.softTime == said.hlc)
    }
}
