import Net
@testable import Node
import Seal
import Testing

extension NodeTests {
    /// Which address is dialled when, whatever others claim.
    @Suite struct DialerTests {
        private func address(_ number: Int, port: UInt16 = 4000) throws -> SocketAddress {
            try #require(SocketAddress("10.0.\(number / 250).\(number % 250 + 1):\(port)"))
        }

        private let anna = Bytes32(repeating: 1)
        private let eve = Bytes32(repeating: 2)

        /// With all places for dials taken there is no deadline in the past, which would make the loop spin.
        @Test func fullOfDialsItWaits() throws {
            var dialer = Dialer()
            for number in 0..<40 { dialer.offer(try address(number), .gossiped, nowMs: 0) }
            #expect(dialer.due(nowMs: 0, connected: []).count == Dialer.dialsMax)
            #expect(dialer.due(nowMs: 10_000, connected: []).isEmpty)
            #expect(dialer.nextDeadlineMs == nil)
            let first = try #require(dialer.candidates.values.first { $0.state == .dialling })
            dialer.failed(first.address, reason: "", nowMs: 10_000, jitter: 0)
            #expect(dialer.nextDeadlineMs != nil)
        }

        /// A flood of hearsay displaces nothing that is better.
        @Test func gossipDisplacesNothingBetter() throws {
            var dialer = Dialer()
            let named = try address(9000)
            dialer.offer(named, .named, nowMs: 0)
            for number in 0..<600 { dialer.offer(try address(number), .discovered, instance: "i\(number)", nowMs: 0) }
            for number in 600..<1600 { dialer.offer(try address(number), .gossiped, nowMs: 1) }
            #expect(dialer.candidates.count == Dialer.candidatesMax)
            #expect(dialer.candidates.values.count { $0.source == .discovered } == 600)
            for number in 4000..<5000 {
                dialer.offer(try address(number), .discovered, instance: "j\(number)", nowMs: 2)
            }
            #expect(dialer.candidates.count == Dialer.candidatesMax)
            #expect(dialer.candidates[named] != nil)
            #expect(dialer.candidates.values.allSatisfy { $0.source >= .discovered })
            dialer.offer(try address(7000), .gossiped, nowMs: 3)
            #expect(dialer.candidates[try address(7000)] == nil)
        }

        /// Somebody says that another's address is his own, so that it would never be dialled.
        @Test func hearsayReplacesNoHandshake() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .discovered, instance: "a", nowMs: 0)
            dialer.offer(place, .gossiped, node: eve, nowMs: 0)
            #expect(dialer.candidates[place]?.node == nil)
            #expect(dialer.due(nowMs: 0, connected: [eve]) == [place])
            dialer.connected(place, node: anna)
            dialer.offer(place, .inbound, node: eve, nowMs: 0)
            #expect(dialer.candidates[place]?.node == anna)
            // Another program announces itself there: who it is has to be seen.
            dialer.offer(place, .discovered, instance: "b", nowMs: 0)
            #expect(dialer.candidates[place]?.node == anna)
            dialer.disconnected(anna, lastedMs: 60_000, nowMs: 60_000)
            #expect(dialer.candidates[place]?.node == nil)
            #expect(dialer.due(nowMs: 61_000, connected: [anna]) == [place])
        }

        /// A node that claims ever other ports fills no table.
        @Test func oneInboundAddressANode() throws {
            var dialer = Dialer()
            for port in 1...500 { dialer.offer(try address(1, port: UInt16(port)), .inbound, node: eve, nowMs: 0) }
            #expect(dialer.candidates.count == 1)
        }

        /// A machine that comes back is announced before its old link is given up: it is dialled when that ends.
        @Test func anAddressThatIsAnnouncedAnewIsDialledAgain() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .discovered, instance: "a", nowMs: 0)
            #expect(dialer.due(nowMs: 0, connected: []) == [place])
            dialer.connected(place, node: eve)
            dialer.offer(place, .discovered, instance: "b", nowMs: 50_000)
            dialer.lost(instance: "a")
            dialer.disconnected(eve, lastedMs: 60_000, nowMs: 60_000)
            #expect(dialer.due(nowMs: 61_000, connected: []) == [place])
        }

        /// What is no longer announced while it is connected is forgotten like what was only heard of.
        @Test func whatWasLostWhileConnectedIsForgotten() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .discovered, instance: "a", nowMs: 0)
            #expect(dialer.due(nowMs: 0, connected: []) == [place])
            dialer.connected(place, node: eve)
            dialer.lost(instance: "a")
            dialer.disconnected(eve, lastedMs: 60_000, nowMs: 60_000)
            var nowMs: UInt64 = 60_000
            for _ in 0..<200 where dialer.candidates[place] != nil {
                nowMs = max(nowMs, dialer.nextDeadlineMs ?? nowMs)
                for address in dialer.due(nowMs: nowMs, connected: []) {
                    dialer.failed(address, reason: "no answer", nowMs: nowMs, jitter: 0)
                }
            }
            #expect(dialer.candidates[place] == nil)
        }

        /// Links that never last are tried ever more slowly.
        @Test func shortLinksBackOff() throws {
            var dialer = Dialer()
            let place = try address(1)
            dialer.offer(place, .discovered, instance: "a", nowMs: 0)
            var nowMs: UInt64 = 0
            var delays: [UInt64] = []
            for _ in 0..<12 {
                #expect(dialer.due(nowMs: nowMs, connected: []) == [place])
                dialer.connected(place, node: eve)
                dialer.disconnected(eve, lastedMs: 5, nowMs: nowMs)
                let nextMs = try #require(dialer.nextDeadlineMs)
                delays.append(nextMs - nowMs)
                nowMs = nextMs
            }
            #expect(delays == delays.sorted())
            #expect(delays.first == Dialer.backOffMs && delays.last == Dialer.backOffMsMax)
            #expect(dialer.due(nowMs: nowMs, connected: []) == [place])
            dialer.connected(place, node: eve)
            dialer.disconnected(eve, lastedMs: 60_000, nowMs: nowMs)
            #expect(dialer.nextDeadlineMs == nowMs + Dialer.staggerMs)
        }

        @Test func linesOfOthersAreBounded() {
            var budget = LogBudget()
            var allowed = 0
            for _ in 0..<10_000 where budget.take(nowMs: 1000).isAllowed { allowed += 1 }
            #expect(allowed < 300)
            let later = budget.take(nowMs: 61_000)
            #expect(later.isAllowed && later.omitted == 10_000 - allowed)
        }
    }
}
