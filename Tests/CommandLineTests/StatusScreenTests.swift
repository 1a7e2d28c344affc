import ControlAPI
import Testing

@testable import starling

/// `status` fits on the screen it was meant for.
struct StatusScreenTests {
    private func peer(_ number: Int, refusals: Int64 = 0, ahead: Int64 = 0) -> PeerRow {
        let address =
            number.isMultiple(of: 2)
            ? "192.168.178.1\(number):47474" : "[fe80::5054:ff:fe12:34\(number)%wlp0s20f3]:47474"
        var row = PeerRow(
            uid: "uid-\(number)", name: "a person with a long name \(number)", address: address, state: .connected,
            rttMs: 123.4, skewMs: number.isMultiple(of: 3) ? -7_200_000 : 123, lacks: 12_345,
            ahead: ahead)
        row.path = .mdns
        row.heardMs = 4_321
        row.refusals = refusals
        return row
    }

    private func status(_ peers: [PeerRow]) -> StatusRow {
        var row = StatusRow(
            uid: String(repeating: "u", count: 43), name: String(repeating: "n", count: 64), workspace: "open",
            version: "0.1.0", peers: peers, entries: 1_234_567, root: String(repeating: "a", count: 80), held: 3,
            skipped: 1, denied: 2, databaseBytes: 1 << 31,
            discovery: "Avahi does not confirm the registration; trying again by itself")
        let authors = (1...8).map { number in
            StorageRow.Author(uid: "u\(number)", name: String(repeating: "x", count: 40), entries: 5_000, bytes: 1)
        }
        row.storage = StorageRow(
            tombstones: 1_000, waiting: 10_000, graves: 500, graveBytes: 5_000, bytes: 1 << 30, authors: authors)
        return row
    }

    private static let otherVersion =
        "it speaks versions 7 to 9 of the protocol and this node version 1: this node is to be updated"

    @Test func manyPeersFit() {
        let away = (1...9).map { number in
            var row = PeerRow(uid: "", name: "", address: "10.0.0.\(number):47474", state: .unreachable)
            row.path = .remembered
            row.reason = "no answer in time, and much more about it than anybody wants to know"
            if number < 4 { (row.state, row.failure, row.reason) = (.refused, .version, Self.otherVersion) }
            return row
        }
        let plain = (1...8).map { peer($0) }
        let odd = (1...40).map { peer($0, refusals: 7, ahead: 12_345) }
        for peers in [[], plain, plain + away, odd + away] {
            let lines = Status.lines(status(peers), Output())
            #expect(lines.count <= 23, "\(lines.count)")
            for line in lines { #expect(TextWidth.of(line) <= 80, "\(line)") }
        }
        let lines = Status.lines(status(odd + away), Output())
        #expect(lines.last?.contains("more: starling peer list") == true)
        #expect(lines.contains { $0.contains("DENIED") } && lines.contains { $0.contains("AHEAD") })
    }

    @Test func eachPeerHasItsFigures() throws {
        var bob = peer(2, refusals: 3)
        bob.name = "bob"
        bob.skewMs = -12
        bob.rttMs = 0.4
        bob.lacks = 0
        let lines = Status.lines(status([bob]), Output())
        let line = try #require(lines.last)
        for word in ["bob", "mdns", "0.4", "-12 ms", "4 s", "0", "3"] {
            #expect(line.split(separator: "  ").contains { $0.trimmingPrefix(" ") == word }, "\(word): \(line)")
        }
        #expect(Status.lines(status([]), Output()).last == "nobody else was found yet; starling doctor says why")
    }
}
