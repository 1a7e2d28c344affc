import ControlAPI
@testable import Node
import Replication
import Seal
import Testing
import Tree
import Wire

extension NodeTests {
    /// What many links hold together has a bound, and who keeps it for ever does not keep the others out.
    @Suite struct LinkMemoryTests {
        private func id(_ number: Int) -> LinkID { LinkID(number) }

        @Test func onlyWhatIsBeyondTheSharesCounts() {
            var memory = LinkMemory()
            let share = LinkMemory.shareBytes
            for number in 1...256 { memory.note(id(number), bytes: share, nowMs: 1) }
            #expect(memory.beyondBytes == 0 && memory.longest == nil && !memory.isFull)
            memory.note(id(2), bytes: share + 7, nowMs: 20)
            memory.note(id(1), bytes: share + 5, nowMs: 10)
            #expect(memory.beyondBytes == 12 && memory.longest == id(1))
            // It stays beyond, so its time goes on.
            memory.note(id(1), bytes: share + 50, nowMs: 30)
            #expect(memory.beyondBytes == 57 && memory.longest == id(1))
            // A moment within its share, and it begins anew.
            memory.note(id(1), bytes: share, nowMs: 40)
            memory.note(id(1), bytes: share + 1, nowMs: 50)
            #expect(memory.beyondBytes == 8 && memory.longest == id(2))
            memory.note(id(2), bytes: 0, nowMs: 60)
            memory.note(id(1), bytes: 0, nowMs: 60)
            #expect(memory.beyondBytes == 0 && memory.longest == nil)
        }

        @Test func itIsFullAboveItsBound() {
            var memory = LinkMemory()
            memory.beyondBytesMax = 100
            memory.note(id(1), bytes: LinkMemory.shareBytes + 100, nowMs: 1)
            #expect(!memory.isFull)
            memory.note(id(2), bytes: LinkMemory.shareBytes + 1, nowMs: 1)
            #expect(memory.isFull && memory.longest == id(1))
        }

        /// Hostile links that begin long messages and never end them: the oldest go, the others are served, and a long
        /// message of somebody honest gets through.
        @Test func messagesThatNeverEndGiveWay() async throws {
            let node = try await TestNode("anna")
            let most = 8 << 20
            await node.node.setLinkMemory(beyondBytesMax: most)
            let bob = try await TestNode("bob", peers: [node])
            let (atNode, atBob) = (try node.client(), try bob.client())
            try atNode.waitForPerson(UID.text(bob.uid), "online") { $0["state"]?.string == "online" }
            // Each holds little, so none of them is the one that holds most when somebody honest has a long message.
            let part = [UInt8](repeating: 7, count: 1 << 20)
            var hostile: [HostilePeer] = []
            for number in 0..<40 {
                let peer = try HostilePeer.greeted(node, from: UInt8(2 + number / 20))
                try peer.send(partOf: part)
                hostile.append(peer)
                #expect(await node.node.linkMemory.beyondBytes <= most)
            }
            try await node.waitForLog(Node.tooMuchMemory)
            try hostile[0].waitForClose()
            // Half a MiB a value, so that the push is longer than a share.
            let text = String(repeating: "x", count: 500_000)
            for number in 0..<4 {
                try atBob.call("tree.set", ["path": .string("apps/long/\(number)"), "value": .string(text)])
            }
            let deadline = Deadline(afterMs: LineClient.timeoutMs)
            while try atNode.value("apps/long/3").string != text, deadline.leftMs > 0 {}
            #expect(try atNode.value("apps/long/3").string == text)
            #expect(await node.node.linkMemory.beyondBytes <= most)
            #expect(node.logLines("link to bob ended: \(Node.tooMuchMemory)").isEmpty)
            for peer in hostile { peer.close() }
        }

        /// Peers that do not read: what waits for all of them is bounded, and the one that reads gets everything.
        @Test func readersThatDoNotReadGiveWay() async throws {
            let node = try await TestNode("anna")
            // A queue holds about a MiB; the rest of what is pushed waits in the store.
            let most = 2 << 20
            await node.node.setLinkMemory(beyondBytesMax: most)
            let bob = try await TestNode("bob", peers: [node])
            let (atNode, atBob) = (try node.client(), try bob.client())
            try atNode.waitForPerson(UID.text(bob.uid), "online") { $0["state"]?.string == "online" }
            var hostile: [HostilePeer] = []
            for _ in 0..<8 { hostile.append(try HostilePeer.greeted(node)) }
            let text = String(repeating: "x", count: 500_000)
            // The kernel's own buffers come first, and they may be large.
            var number = 0
            while node.logLines(Node.tooMuchMemory).isEmpty, number < 60 {
                try atNode.call("tree.set", ["path": .string("apps/long/\(number)"), "value": .string(text)])
                number += 1
                // However slow this is, they are not taken for dead.
                for peer in hostile { try? peer.send(.ping(HostilePeer.emptyVitals)) }
                #expect(await node.node.linkMemory.beyondBytes <= most)
            }
            #expect(!node.logLines(Node.tooMuchMemory).isEmpty)
            try atNode.call("message.send", ["to": "#general", "text": "afterwards"])
            try atBob.waitForMessage("afterwards")
            for peer in hostile { peer.close() }
        }
    }
}

extension Node {
    fileprivate func setLinkMemory(beyondBytesMax: Int) { linkMemory.beyondBytesMax = beyondBytesMax }
}
