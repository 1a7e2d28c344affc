internal import Glibc
internal import Seal
internal import Store

/// Databases with many messages, which several suites begin with: each size is made once.
final class Archives {
    private let top: ScratchFolder
    private var made: [Int: String] = [:]

    init(in top: ScratchFolder) { self.top = top }

    /// A database of the open workspace with so many messages of 50 authors in 20 channels, signed together, and
    /// searchable. It is to be copied, not changed.
    func database(_ count: Int) throws -> String {
        if let path = made[count] { return path }
        Terminal.progress("writing \(Report.decimal(Double(count), 0)) messages")
        let path = "\(top.path)/archive-\(count).db"
        var archive = try MessageArchive(count, workspace: CatchUpData.workspace)
        try archive.write(count, together: true, to: path)
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        while try store.indexMessages(limit: 10_000) { try Interruption.check() }
        made[count] = path
        return path
    }

    /// A daemon that has the messages. It is started once before, so that its home is as it makes it.
    func daemon(_ program: String, home: String, port: UInt16, _ count: Int) throws -> DaemonUnderTest {
        try prepare(program, home: home, count)
        return try DaemonUnderTest(program, home: home, port: port, peer: nil)
    }

    /// A home that has the messages and whose daemon has been started once, and ended.
    func prepare(_ program: String, home: String, _ count: Int) throws {
        let source = try database(count)
        try DaemonUnderTest(program, home: home, port: DaemonUnderTest.freePort(), peer: nil).end()
        let path = home + "/workspace.db"
        for ending in ["", "-wal", "-shm"] { unsafe unlink(path + ending) }
        try CatchUpData.copy(source, path)
        // What it does once with a new database is not what is measured.
        try DaemonUnderTest(program, home: home, port: DaemonUnderTest.freePort(), peer: nil).end()
    }
}
