import Seal
import Store
import Testing
import Tree
import Wire

@testable import Replication

/// A peer that has entries looked at all the time.
@Suite struct ScanQuotaTests {
    private let chatter = Chatter(count: 3000, everyMs: 10)

    private func mesh() throws -> MachineMesh {
        let mesh = MachineMesh(try [chatter.store { _ in true }, chatter.store { _ in true }])
        try mesh.connect(1)
        try mesh.run()
        return mesh
    }

    private func answers(_ mesh: MachineMesh) -> (differences: Int, empty: Int) {
        var (differences, empty) = (0, 0)
        for said in mesh.said {
            guard said.to == 1, case .differ(_, let summaries) = said.message else { continue }
            if summaries.isEmpty { empty += 1 } else { differences += 1 }
        }
        return (differences, empty)
    }

    /// One question after the other that adds up a minute is answered so often, and later again.
    @Test func comparisonsOfTheFinestLevelAreBounded() throws {
        let mesh = try mesh()
        let minute = TimeBucket(level: 3, containing: try chatter.entry(2000).hlc)
        let cost = 1 + mesh.stores[0].digest(of: minute).count / ScanQuota.entries
        #expect(cost > 1)
        let most = Int(ScanQuota.ofPeer.burst) / cost + 1
        for _ in 0..<(most + 100) { try mesh.feed(0, .received(LinkID(1), .compare(minute, []))) }
        #expect(answers(mesh).differences <= most && answers(mesh).differences > most - 10)
        #expect(answers(mesh).empty >= 100)
        try mesh.pass(ms: 2000, step: 100)
        let before = answers(mesh).differences
        try mesh.feed(0, .received(LinkID(1), .compare(minute, [])))
        #expect(answers(mesh).differences == before + 1)
    }

    /// Who asks for the ends of channels without end gets so many.
    @Test func endsOfChannelsAreBounded() throws {
        let mesh = try mesh()
        let path = try Path(parsing: Chatter.path)
        let most = Int(ScanQuota.ofPeer.burst / ScanQuota.tail) + 1
        let before = mesh.entries(to: 1).count
        for _ in 0..<(most + 100) {
            try mesh.feed(0, .received(LinkID(1), .tail(Tail(path: path, count: 1, salt: 1, known: []))))
            try mesh.run()
        }
        let given = mesh.entries(to: 1).count - before
        #expect(given <= most && given > most - 100, "\(given)")
    }
}
