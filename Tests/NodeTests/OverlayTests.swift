import ControlAPI
import Foundation
import Lab
import Net
import Node
import Seal
import Testing
import Tree

extension NodeTests {
    /// More nodes than link to everybody, with real sockets: each knows two others and finds the rest.
    @Suite struct OverlayTests {
        @Test func manyNodesBecomeOneOverlay() async throws {
            let count = 20
            var nodes: [TestNode] = []
            for index in 0..<count {
                let known = index == 0 ? [] : [nodes[index / 2], nodes[index - 1]]
                nodes.append(
                    try await TestNode("node \(index)", peers: known) {
                        $0.dialsLoopback = true
                        $0.everybodyMax = 12
                    })
            }
            let clients = try nodes.map { try $0.client() }
            try await eventually("everybody is online everywhere", within: .seconds(240)) {
                try clients.allSatisfy { client in
                    let rows = try client.call("people.list")["people"]?.array ?? []
                    return rows.count { $0["state"]?.string == "online" } == count
                }
            }
            func links() throws -> [Int] {
                try clients.map { client in
                    let rows = try client.call("node.peers")["peers"]?.array ?? []
                    return rows.count { $0["state"]?.string == "connected" }
                }
            }
            try await eventually("links are let go", within: .seconds(240)) {
                try links().allSatisfy { (1...10).contains($0) }
            }
            for index in [0, 17, count - 1] { try clients[index].send(message: "from \(index)") }
            for client in clients {
                for index in [0, 17, count - 1] { try client.waitForMessage("from \(index)") }
            }
            #expect(try links().allSatisfy { (1...10).contains($0) })
            for node in nodes { await node.stop() }
        }
    }
}
