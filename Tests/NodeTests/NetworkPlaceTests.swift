import ControlAPI
import Discovery
import Foundation
import Glibc
import Lab
import Net
@testable import Node
import Seal
import Synchronization
import Testing
import Tree

extension NodeTests {
    /// The open workspace stays on its own networks.
    @Suite struct NetworkPlaceTests {
        static let office = place("52:54:00:00:00:01", "10.1.0.0/16")
        static let cafe = place("52:54:00:00:00:02", "10.2.0.0/16")

        /// Where a machine is; it can be carried elsewhere.
        private final class Whereabouts: Sendable {
            private let places: Mutex<[NetworkPlace]>

            init(_ places: [NetworkPlace]) { self.places = Mutex(places) }

            var now: [NetworkPlace] { places.withLock { $0 } }
            func move(to places: NetworkPlace...) { move(to: places) }
            func move(to places: [NetworkPlace]) { self.places.withLock { $0 = places } }
        }

        @Test func elsewhereItRestsUntilItIsTold() async throws {
            let machine = Whereabouts([NetworkPlaceTests.office])
            let bob = try await TestNode("bob")
            let anna = try await TestNode("anna", peers: [bob]) { $0.places = { machine.now } }
            let (atAnna, atBob) = (try anna.client(), try bob.client())
            try atBob.send(message: "in the office")
            try atAnna.waitForMessage("in the office")
            var row = try atAnna.call("workspace.show")
            #expect(row["paused"] == false && row["readers"] == "anybody on the network")
            #expect(row["networks"] == ["10.1.0.0/16 (gateway 52:54:00:00:00:01)"])

            machine.move(to: NetworkPlaceTests.cafe)
            try atAnna.call("node.rescan")
            row = try atAnna.call("workspace.show")
            #expect(row["paused"] == true && row["network"] == ["10.2.0.0/16 (gateway 52:54:00:00:00:02)"])
            #expect(try atAnna.status()["discovery"]?.string?.contains("starling workspace here") == true)
            let notices = try atAnna.status()["notices"]?.array ?? []
            #expect(notices.contains { $0["kind"] == "network" })
            try await eventually("bob has no link", within: .seconds(60)) {
                try atBob.status()["peers"]?.array?.contains { $0["state"] == "connected" } == false
            }
            // Nobody is let in and nobody dialled, whoever asks.
            #expect(throws: TestFailure.self) { try HostilePeer(anna) }
            try atAnna.call("node.addPeer", ["address": .string(bob.address)])
            try atBob.send(message: "without anna")
            try atAnna.send(message: "kept for later")
            #expect(try atAnna.texts() == ["in the office", "kept for later"])
            #expect(try atBob.texts() == ["in the office", "without anna"])

            // Nor after a start.
            let again = try await anna.restarted { options in
                options.places = { machine.now }
                options.peers = [bob.port].compactMap { HostPort("127.0.0.1:\($0)") }
            }
            let client = try again.client()
            #expect(try client.call("workspace.show")["paused"] == true)
            #expect(throws: TestFailure.self) { try HostilePeer(again) }
            #expect(try client.call("workspace.here")["paused"] == false)
            try client.waitForMessage("without anna")
            try atBob.waitForMessage("kept for later")
            #expect(try client.status()["notices"]?.array?.isEmpty == true)
            // Both are its networks now.
            for place in [NetworkPlaceTests.office, NetworkPlaceTests.cafe] {
                machine.move(to: place)
                try client.call("node.rescan")
                #expect(try client.call("workspace.show")["paused"] == false)
            }
        }

        /// Whoever was heard on the network before is not taken for somebody on this one.
        @Test func whoWasHeardElsewhereIsForgotten() async throws {
            let machine = Whereabouts([NetworkPlaceTests.office])
            let anna = try await TestNode("anna") { options in
                options.places = { machine.now }
                options.dialsLoopback = true
            }
            let client = try anna.client()
            try client.send(message: "in the office")
            // Now it is a network of the workspace.
            try client.call("node.rescan")
            let salt = [UInt8](repeating: 7, count: 16)
            let hint = BLAKE2b.hash(Array("starling-hint".utf8) + salt, key: Workspace.open.networkKey.bytes)
            let sighting = Sighting(
                instance: "bens", interfaceIndex: 1, host: "host.local.",
                addresses: [Sighting.Address(bytes: [127, 0, 0, 1])], port: 9,
                txt: ["s": salt, "h": Array(hint.bytes.prefix(8))])
            await anna.node.hear(.registered("annas"), .state(.up), .found(sighting))
            let address = try #require(SocketAddress("127.0.0.1:9"))
            #expect(await anna.node.dialer.candidates[address]?.source == .discovered)
            var row = try DiagnosisRow(json: try client.call("node.diagnose"))
            #expect(row.instance == "annas" && row.heard.map(\.isOurs) == [true])

            machine.move(to: NetworkPlaceTests.cafe)
            try client.call("node.rescan")
            for _ in 0..<2 {
                row = try DiagnosisRow(json: try client.call("node.diagnose"))
                #expect(row.instance == nil && row.heard.isEmpty)
                #expect(await anna.node.dialer.candidates[address]?.source != .discovered)
                try client.call("workspace.here")
            }
        }

        /// It is looked before somebody is let in, so no moment is too short.
        @Test func whoComesFirstIsNotLetIn() async throws {
            let machine = Whereabouts([NetworkPlaceTests.office])
            let anna = try await TestNode("anna") { $0.places = { machine.now } }
            try anna.client().send(message: "in the office")
            let member = try HostilePeer.greeted(anna)
            try member.synchronise()
            machine.move(to: NetworkPlaceTests.cafe)
            // Nothing has told the node of the change; it looks at most four times a second.
            try await eventually("a stranger is turned away", within: .seconds(60)) {
                do {
                    _ = try HostilePeer(anna)
                    return false
                } catch is TestFailure {
                    return true
                }
            }
            try member.waitForClose()
        }

        /// On no network there is nobody, and coming back is coming home.
        @Test func withoutANetworkNothingChanges() async throws {
            let machine = Whereabouts([NetworkPlaceTests.office])
            let anna = try await TestNode("anna") { $0.places = { machine.now } }
            let client = try anna.client()
            try client.send(message: "x")
            for places in [[NetworkPlaceTests.office], [], [NetworkPlaceTests.office]] {
                machine.move(to: places)
                try client.call("node.rescan")
                #expect(try client.call("workspace.show")["paused"] == false)
            }
            machine.move(to: [])
            #expect(try client.refusal("workspace.here") == "offline")
        }

        /// A workspace with nothing in it has no network of its own yet, and a private one goes anywhere.
        @Test func whatIsEmptyOrPrivateGoesAnywhere() async throws {
            let machine = Whereabouts([NetworkPlaceTests.office])
            let anna = try await TestNode("anna") { $0.places = { machine.now } }
            machine.move(to: NetworkPlaceTests.cafe)
            try anna.client().call("node.rescan")
            var row = try anna.client().call("workspace.show")
            #expect(row["paused"] == false && row["networks"] == [])
            try anna.client().send(message: "x")
            try anna.client().call("node.rescan")
            row = try anna.client().call("workspace.show")
            #expect(row["networks"] == ["10.2.0.0/16 (gateway 52:54:00:00:00:02)"])
            try anna.client().call("workspace.create", ["name": "team"])
            let team = try await anna.restarted { $0.places = { machine.now } }
            try team.client().send(message: "x")
            machine.move(to: NetworkPlaceTests.office)
            try team.client().call("node.rescan")
            row = try team.client().call("workspace.show")
            #expect(row["paused"] == nil)
            _ = try HostilePeer(team, networkKey: team.key(), workspace: team.workspaceID())
        }

        // MARK: Networks without a name

        static func nameless(_ interface: String) -> NetworkPlace {
            NetworkPlace(gateway: nil, isWayOut: false, prefixes: [], interface: interface)
        }

        /// A machine has link-local addresses on every network, in the seconds before it gets others and on some for
        /// ever: they say nothing of where it is.
        @Test func aNetworkWithoutANameIsNobodysHome() async throws {
            var office = NetworkPlaceTests.office
            office.interface = "wlan0 1"
            let machine = Whereabouts([office])
            let anna = try await TestNode("anna") { $0.places = { machine.now } }
            let client = try anna.client()
            try client.send(message: "in the office")
            func isPaused(at places: NetworkPlace...) throws -> Bool {
                machine.move(to: places)
                try client.call("node.rescan")
                return try client.call("workspace.show")["paused"] == true
            }
            #expect(try !isPaused(at: office))
            #expect(try isPaused(at: NetworkPlaceTests.nameless("wlan0 3")))
            #expect(throws: TestFailure.self) { try HostilePeer(anna) }
            #expect(try !isPaused(at: office))
            // It has lost its address and not left the network; then it is carried elsewhere.
            #expect(try !isPaused(at: NetworkPlaceTests.nameless("wlan0 1")))
            _ = try HostilePeer(anna)
            #expect(try isPaused(at: NetworkPlaceTests.nameless("wlan0 3")))
            #expect(try isPaused(at: NetworkPlaceTests.nameless("wlan0 1")))
            // Nor is it to be known by its interface once it has been elsewhere.
            #expect(try !isPaused(at: office))
            var cafe = NetworkPlaceTests.cafe
            cafe.interface = "wlan0 1"
            #expect(try isPaused(at: cafe) && isPaused(at: NetworkPlaceTests.nameless("wlan0 1")))
            // A person can say that such networks are good, all of them, for none can be told from another.
            #expect(try client.call("workspace.here")["paused"] == false)
            #expect(try client.call("workspace.show")["networks"]?[1] == "a network that gives no addresses")
            #expect(try !isPaused(at: NetworkPlaceTests.nameless("eth7 9")))
            // Yet a network that turns out to be another one after some seconds without a name is another one.
            let other = NetworkPlace(
                gateway: "52:54:00:00:00:03", isWayOut: true, prefixes: ["10.3.0.0/16"], interface: "eth7 9")
            #expect(try isPaused(at: other))
        }

        /// A gateway's hardware address is forgotten now and then, by a kernel that lost its carrier or had nothing to
        /// send. At home that is nothing; in a café with the same addresses it must not look like home.
        @Test func aSilentGatewayMakesNoHomeOfACafe() async throws {
            func at(_ gateway: String?, _ interface: String) -> NetworkPlace {
                NetworkPlace(gateway: gateway, isWayOut: true, prefixes: ["192.168.1.0/24"], interface: interface)
            }
            let machine = Whereabouts([at("aa", "wlan0 1")])
            let asked = Mutex(0)
            let bob = try await TestNode("bob")
            let anna = try await TestNode("anna", peers: [bob]) { options in
                options.places = { machine.now }
                options.askGateways = { asked.withLock { $0 += 1 } }
            }
            let client = try anna.client()
            try client.send(message: "at home")
            try bob.client().waitForMessage("at home")
            func isPaused(at place: NetworkPlace) throws -> Bool {
                machine.move(to: place)
                try client.call("node.rescan")
                return try client.call("workspace.show")["paused"] == true
            }
            func isLinked() throws -> Bool {
                try client.status()["peers"]?.array?.contains { $0["state"] == "connected" } == true
            }
            #expect(try !isPaused(at: at(nil, "wlan0 1")) && isLinked())
            #expect(asked.withLock { $0 } == 0)
            // The carrier was gone for a moment: nobody new is let in before it is clear where this is.
            #expect(try isPaused(at: at(nil, "wlan0 3")) && isLinked())
            #expect(throws: TestFailure.self) { try HostilePeer(anna) }
            #expect(asked.withLock { $0 } > 0)
            #expect(try !isPaused(at: at("aa", "wlan0 3")) && isLinked())
            #expect(try isPaused(at: at("bb", "wlan0 5")) && !isLinked())
            #expect(try isPaused(at: at(nil, "wlan0 5")))
            #expect(try !isPaused(at: at("aa", "wlan0 7")))
        }

        /// Nor does it when it stays silent for as long as one is waited for.
        @Test func aGatewayThatStaysSilentMakesNoHomeOfACafe() async throws {
            func at(_ gateway: String?, _ interface: String) -> NetworkPlace {
                NetworkPlace(gateway: gateway, isWayOut: true, prefixes: ["192.168.1.0/24"], interface: interface)
            }
            let machine = Whereabouts([at("aa", "wlan0 1")])
            let anna = try await TestNode("anna") { options in
                options.places = { machine.now }
                options.gatewayMs = 0
                options.askGateways = {}
            }
            let client = try anna.client()
            try client.send(message: "at home")
            func isPaused(at place: NetworkPlace) throws -> Bool {
                machine.move(to: place)
                try client.call("node.rescan")
                return try client.call("workspace.show")["paused"] == true
            }
            #expect(try !isPaused(at: at("aa", "wlan0 1")))
            #expect(try !isPaused(at: at(nil, "wlan0 3")))
            #expect(try isPaused(at: at("bb", "wlan0 3")))
            #expect(try isPaused(at: at(nil, "wlan0 3")) && isPaused(at: at(nil, "wlan0 3")))
            // Elsewhere it may be home again.
            #expect(try !isPaused(at: at(nil, "wlan0 5")))
        }

        /// Two machines on a cable: what was written there stays there, until the same cable gives addresses.
        @Test func whatLivesOnANetworkWithoutANameStaysThere() async throws {
            let machine = Whereabouts([NetworkPlaceTests.nameless("eth0 1")])
            let anna = try await TestNode("anna") { options in
                options.places = { machine.now }
                options.namelessMs = 0
            }
            let client = try anna.client()
            try client.send(message: "on the cable")
            func networks(at places: NetworkPlace...) throws -> (isPaused: Bool, own: Int) {
                machine.move(to: places)
                try client.call("node.rescan")
                let row = try client.call("workspace.show")
                return (row["paused"] == true, row["networks"]?.array?.count ?? 0)
            }
            #expect(try networks(at: NetworkPlaceTests.nameless("eth0 1")) == (false, 1))
            var office = NetworkPlaceTests.office
            office.interface = "eth0 1"
            #expect(try networks(at: office) == (false, 2))
            var cafe = NetworkPlaceTests.cafe
            cafe.interface = "wlan0 1"
            #expect(try networks(at: cafe) == (true, 2))
            #expect(try networks(at: NetworkPlaceTests.office) == (false, 2))
        }

        static func place(_ gateway: String?, _ prefixes: String..., isWayOut: Bool = true) -> NetworkPlace {
            NetworkPlace(gateway: gateway, isWayOut: isWayOut, prefixes: prefixes)
        }
    }
}
