import ControlAPI
import Lab
import Net
@testable import Node
import Seal
import Testing
import Wire

extension NodeTests {
    /// A node of another protocol version is named, whichever side has dialled.
    @Suite struct OtherVersionTests {
        private func sighting(_ port: UInt16, _ versions: ClosedRange<Int>, seenMs: UInt64 = 0) throws
            -> OtherVersions.Sighting
        {
            OtherVersions.Sighting(
                address: try #require(SocketAddress("10.0.0.1:\(port)")), node: Bytes32(repeating: UInt8(port % 251)),
                versionMin: versions.lowerBound, versionMax: versions.upperBound, isInbound: true, seenMs: seenMs)
        }

        @Test func wordsSayWhoIsOutOfDate() throws {
            let newer = try sighting(1, 7...9)
            #expect(newer.isNewer)
            #expect(
                newer.words == "it speaks versions 7 to 9 of the protocol and this node version 1: this node is to be "
                    + "updated")
            let older = try sighting(1, 0...0)
            #expect(!older.isNewer)
            #expect(
                older.words == "it speaks version 0 of the protocol and this node version 1: that one is to be updated")
        }

        @Test func whatIsRememberedIsBounded() throws {
            var versions = OtherVersions()
            for port in 1...UInt16(OtherVersions.countMax + 5) {
                versions.note(try sighting(port, 7...9, seenMs: UInt64(port)))
            }
            #expect(versions.sightings.count == OtherVersions.countMax)
            #expect(versions.sightings.first?.seenMs == 6)
            versions.note(try sighting(6, 8...9, seenMs: 100))
            #expect(versions.sightings.count == OtherVersions.countMax && versions.sightings.last?.versionMin == 8)
            versions.forget(Bytes32(repeating: 7))
            #expect(versions.sightings.count == OtherVersions.countMax - 1)
            versions.forgetOld(nowMs: OtherVersions.keptMs + 50)
            #expect(versions.sightings.map(\.seenMs) == [100])
        }

        /// Who has dialled and has no version in common is in the list, once, until he comes with one.
        @Test func whoDialsIsNamed() async throws {
            let node = try await TestNode("anna")
            let client = try node.client()
            let key = SigningKey()
            for payload in [
                LinkPayload(versionMin: 7, versionMax: 9, instance: 1, port: 4711),
                LinkPayload(versionMin: 9, versionMax: 7, instance: 1, port: 4711),
                LinkPayload(versionMin: 7, versionMax: 9, instance: 2, port: 4711),
            ] { try HostilePeer(node, key: key, payload: payload.encoded).waitForClose() }
            let answer = try client.call("node.peers")["peers"]?.array ?? []
            let row = try PeerRow(json: try #require(answer.first))
            #expect(answer.count == 1 && row.address == "127.0.0.1:4711" && row.path == .inbound)
            #expect(row.state == .refused && row.failure == .version && row.isNewer == true)
            #expect(row.reason?.hasPrefix("it speaks versions 7 to 9 of the protocol") == true)
            let updated = try HostilePeer.greeted(node, key: key)
            try updated.synchronise()
            let rows = try client.call("node.peers")["peers"]?.array ?? []
            #expect(rows.count == 1 && rows.first?["state"] == "connected")
        }
    }
}
