import ControlAPI
import Discovery
import Lab
import Net
import Seal
import Testing
import Tree

@testable import Node
@testable import Store

extension NodeTests {
    /// What the daemon tells doctor and `status`.
    @Suite struct DiagnoseTests {
        private func diagnosis(_ client: LineClient) throws -> DiagnosisRow {
            try DiagnosisRow(json: try client.call("node.diagnose"))
        }

        @Test func aNodeDescribesItself() async throws {
            let anna = try await TestNode("anna")
            let ben = try await TestNode("ben", peers: [anna])
            let (annas, bens) = (try anna.client(), try ben.client())
            try await eventually("they are connected", within: .seconds(60)) {
                try diagnosis(annas).peers.first?.state == .connected && diagnosis(bens).peers.first?.rttMs != nil
            }
            let row = try diagnosis(annas)
            #expect(row.port == Int64(anna.port) && row.discovery == .off && row.instance == nil && row.heard.isEmpty)
            #expect(row.database == .sound && !row.isDiskFull && row.notices.isEmpty)
            #expect(row.home == anna.home.path)
            let inbound = try #require(row.peers.first)
            #expect(inbound.path == .inbound && inbound.refusals == 0 && inbound.failure == nil)
            #expect(inbound.heardMs != nil)
            #expect(try diagnosis(bens).peers.first?.path == .named)
        }

        /// Whoever answers and is not of this workspace is told from whoever does not answer.
        @Test func failuresAreTold() async throws {
            let anna = try await TestNode("anna")
            let foreign = Workspace(name: "other", id: Workspace.open.id, networkKey: Bytes32(repeating: 3))
            let eve = try await TestNode("eve", peers: [anna], workspace: foreign)
            let client = try eve.client()
            try await eventually("the key is named", within: .seconds(60)) {
                try diagnosis(client).peers.contains { $0.failure == .key && $0.path == .named }
            }
            #expect(try diagnosis(client).peers.allSatisfy { $0.state != .connected })
            await anna.stop()
            try await eventually("the closed port is named", within: .seconds(60)) {
                try diagnosis(client).peers.contains { $0.failure == .refused }
            }
        }

        /// Who is not let in because of what he has sent is told why, and so is whoever does not let him in.
        @Test func aForgerIsNamedOnBothSides() async throws {
            let anna = try await TestNode("anna")
            let ben = try await TestNode("ben", peers: [anna])
            let (annas, bens) = (try anna.client(), try ben.client())
            try annas.waitForPerson(UID.text(ben.uid), "ben") { $0["state"] == "online" }
            await anna.node.distrust(ben.uid)
            try await eventually("ben knows why", within: .seconds(60)) {
                try diagnosis(bens).peers.contains {
                    $0.failure == .forged && $0.state == .refused && $0.reason == DialFailure.takenForForger
                }
            }
            try await eventually("anna knows why", within: .seconds(60)) {
                try diagnosis(annas).peers.contains { $0.failure == .forged && $0.reason == DialFailure.forger }
            }
        }

        /// Room that is made is noticed, also where nobody writes, and none is imagined.
        @Test func roomOnTheDiskIsNoticed() async throws {
            let anna = try await TestNode("anna")
            let client = try anna.client()
            try await anna.node.fillDisk()
            let large = JSON.string(String(repeating: "x", count: 60_000))
            #expect(throws: RPCError.self) {
                for number in 0..<20 { try client.call("tree.set", ["path": "apps/\(number)", "value": large]) }
            }
            #expect(try diagnosis(client).isDiskFull)
            await anna.node.scheduleMaintenance()
            #expect(try diagnosis(client).isDiskFull)
            try await anna.node.makeRoom()
            await anna.node.scheduleMaintenance()
            #expect(try !diagnosis(client).isDiskFull)
        }

        /// An answer of Avahi that is late changes nothing of what was known; one that never comes does.
        @Test func whatIsHeardOutlastsALateAnswer() async throws {
            let anna = try await TestNode("anna")
            let client = try anna.client()
            await anna.node.hear(.registered("annas"), .state(.up), .found(sighting("bens")))
            await anna.node.hear(.state(.down(.waiting)))
            #expect(try diagnosis(client).discovery == .down)
            await anna.node.hear(.state(.up))
            var row = try diagnosis(client)
            #expect(row.discovery == .up && row.instance == "annas" && row.heard.map(\.instance) == ["bens"])
            await anna.node.hear(.state(.down(.waiting)), .state(.down(.notAnswering)), .state(.starting))
            row = try diagnosis(client)
            #expect(row.instance == nil && row.heard.isEmpty)
        }

        private func sighting(_ instance: String) -> Sighting {
            Sighting(
                instance: instance, interfaceIndex: 1, host: "host.local.",
                addresses: [Sighting.Address(bytes: [192, 0, 2, 7])], port: 47474, txt: [:])
        }

        /// The question what is wrong is answered also by a node that can read nothing.
        @Test func aDatabaseThatCannotBeReadIsNamed() async throws {
            let anna = try await TestNode("anna")
            let ben = try await TestNode("ben", peers: [anna])
            try anna.client().waitForPerson(UID.text(ben.uid), "ben") { $0["state"] == "online" }
            let row = try DiagnosisRow(json: try await anna.node.answerWithDamage())
            #expect(row.database == .damaged && row.damage?.isEmpty == false)
            let uid = UID.text(ben.uid)
            #expect(row.peers.contains { $0.state == .connected && $0.uid == uid && $0.name == String(uid.prefix(8)) })
        }

        @Test func wordsHaveKinds() {
            let expected: [(String, PeerRow.Failure?)] = [
                ("\(NetError(.refused, errno: 111, operation: "connect"))", .refused),
                ("\(NetError(.timedOut, errno: 110, operation: "connect"))", .timedOut),
                ("\(NetError(.permissionDenied, errno: 1, operation: "connect"))", .forbidden),
                ("\(CloseReason.ended)", .key), ("\(LinkError(.notStarling))", .key),
                (DialFailure.noCommonVersion, .version), (DialFailure.forger, .forged),
                ("no handshake within 5 s", nil),
            ]
            for (words, kind) in expected { #expect(DialFailure.kind(words) == kind, "\(words)") }
        }

        @Test func whoIsCountedIsBounded() {
            var counts = DeniedCounts()
            let keys = (0..<DeniedCounts.peersMax + 9).map { index in
                BLAKE2b.hash([UInt8(index & 255), UInt8(index >> 8)])
            }
            counts.add(1_000, keys[0])
            for key in keys.dropFirst() { counts.add(1, key) }
            counts.add(2, keys[0])
            #expect(counts.count(of: keys[0]) == 1_002)
            #expect(keys.count { counts.count(of: $0) > 0 } == DeniedCounts.peersMax)
        }
    }
}

extension Node {
    /// As if discovery had said so.
    func hear(_ events: DiscoveryEvent...) { for event in events { discovered(event) } }

    /// The database can have no more pages than it has.
    fileprivate func fillDisk() throws {
        let count = try store.database.integer("PRAGMA page_count")
        try store.database.execute("PRAGMA max_page_count=\(count)")
    }

    /// The answer while no table can be found, before anything else happens.
    fileprivate func answerWithDamage() throws -> JSON {
        storedNames = [:]
        try store.database.execute("PRAGMA writable_schema=ON")
        try store.database.execute("UPDATE sqlite_schema SET rootpage = 999999 WHERE type = 'table'")
        let version = try store.database.integer("PRAGMA schema_version")
        try store.database.execute("PRAGMA schema_version = \(version + 1)")
        return diagnoseAnswer()
    }

    fileprivate func makeRoom() throws {
        try store.database.execute("PRAGMA max_page_count=1000000")
    }

    /// As if somebody had sent very much that was forged, from somewhere else.
    fileprivate func distrust(_ node: Bytes32) {
        noteForged(100_000, from: LinkSource(node: node, address: [192, 0, 2, 7]))
    }
}
