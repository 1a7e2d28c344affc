@testable import Replication
import Seal
import Testing
import Tree

/// Quotas belong to an identity, however often it connects.
@Suite struct PeerAccountTests {
    private func peer(_ number: Int) -> Bytes32 {
        BLAKE2b.hash([UInt8(number % 256), UInt8(number / 256)])
    }

    @Test func whoConnectsAnewGoesOnWhereHeWas() {
        var accounts = PeerAccounts()
        let flooder = peer(1)
        accounts.open(flooder, nowMs: 1000)
        func taken(_ nowMs: UInt64) -> Int {
            (0..<10_000).count { _ in accounts.with(flooder, nowMs: nowMs) { $0.soft.takes(nowMs: nowMs) } }
        }
        #expect(taken(1000) == Int(SoftQuota.burst))
        for _ in 0..<10 {
            accounts.close(flooder, nowMs: 1000)
            accounts.open(flooder, nowMs: 1000)
            #expect(taken(1000) == 0)
        }
        // A second link at the same time is no second quota, and the end of one of them no end of the account.
        accounts.open(flooder, nowMs: 1000)
        accounts.close(flooder, nowMs: 1000)
        #expect(taken(2000) == Int(SoftQuota.rate))
        let seals = (0..<100).count { _ in
            accounts.with(flooder, nowMs: 2000) { account in
                guard account.seals.hasRoom(nowMs: 2000) else { return false }
                account.seals.spend(1)
                return true
            }
        }
        #expect(seals == Int(SealQuota.ofPeer.burst))
        // The others have their own.
        accounts.open(peer(2), nowMs: 2000)
        #expect(accounts.with(peer(2), nowMs: 2000) { $0.soft.takes(nowMs: 2000) })
    }

    @Test func accountsAreBoundedAndEnd() {
        var accounts = PeerAccounts()
        accounts.open(peer(0), nowMs: 0)
        for number in 1...1000 {
            accounts.open(peer(number), nowMs: UInt64(number))
            accounts.close(peer(number), nowMs: UInt64(number))
        }
        #expect(accounts.count == PeerAccounts.keptMax + 1)
        // Who is linked is never forgotten, of the others those first who went first.
        #expect(accounts[peer(0)] != nil && accounts[peer(1000)] != nil && accounts[peer(1)] == nil)
        // One that is charged without a link takes a place like any other.
        accounts.with(peer(2000), nowMs: 2000) { $0.refusals = 7 }
        #expect(accounts.count == PeerAccounts.keptMax + 1 && accounts[peer(2000)]?.refusals == 7)
        let laterMs = 3000 + PeerAccounts.keptMs
        accounts.open(peer(3000), nowMs: laterMs)
        accounts.close(peer(3000), nowMs: laterMs)
        #expect(accounts.count == 2)
    }

    /// Somebody is trusted again after a while, but not because he has hung up.
    @Test func refusalsAreForgivenOneByOne() {
        var accounts = PeerAccounts()
        let spoiler = peer(1)
        accounts.open(spoiler, nowMs: 0)
        #expect(accounts.trusts(spoiler))
        accounts.with(spoiler, nowMs: 0) { $0.refusals = Replicator.refusalsMax }
        accounts.close(spoiler, nowMs: 0)
        accounts.open(spoiler, nowMs: 10)
        #expect(!accounts.trusts(spoiler))
        accounts.close(spoiler, nowMs: 10)
        accounts.open(spoiler, nowMs: 60_010)
        #expect(accounts.trusts(spoiler) && accounts[spoiler]?.refusals == Replicator.refusalsMax - 60)
    }
}
