import Foundation
import Store
import Testing
import Tree

/// The write-ahead log beside the database file.
@Suite struct LogTests {
    private func bytes(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    /// Whoever writes without a pause never gives the store a moment to rest; the log is written back all the same, and
    /// used again from its beginning.
    @Test func theLogIsBoundedWithoutRest() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        // 4,096 pages, and those of the commit that went beyond them.
        let logBytesMax = (4096 + 256) * (4096 + 24)
        let before = try bytes(path)
        var (written, greatest, number) = (0, 0, UInt64(0))
        while written <= 2 * logBytesMax {
            let logged = try bytes(path + "-wal")
            // A long value, so that each commit takes many pages.
            let text = String(repeating: "x", count: 60_000)
            try store.commit(try testEntry("/a/\(number)", .string(text), ms: 1_000 + number))
            number += 1
            written += max(try bytes(path + "-wal") - logged, 60_000)
            greatest = max(greatest, try bytes(path + "-wal"))
        }
        #expect(greatest > logBytesMax / 2 && greatest <= logBytesMax, "the log had \(greatest) bytes")
        #expect(try bytes(path) > before + logBytesMax / 2, "nothing was written back")
        try store.rest()
        #expect(try store.liveEntries().count == Int(number))
    }
}
