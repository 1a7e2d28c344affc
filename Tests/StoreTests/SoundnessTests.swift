import Foundation
import Store
import Testing
import Tree

/// A look at the whole file.
struct SoundnessTests {
    private func filled(_ path: String) throws -> DatabaseStore {
        let store = try DatabaseStore(path: path)
        let text = Value.string(String(repeating: "x", count: 900))
        for number in 0..<200 { try store.commit(testEntry("apps/\(number)", text, ms: UInt64(number + 1))) }
        return store
    }

    @Test func aSoundFileIsSound() throws {
        let folder = try TemporaryFolder()
        let store = try filled(folder.path("workspace.db"))
        defer { store.close() }
        #expect(try store.soundness(bytesMax: 1 << 30) == .sound)
        #expect(try store.soundness(bytesMax: 1_000) == .tooLarge)
    }

    @Test func aDamagedPageIsFound() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        try filled(path).close()
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        let size = try file.seekToEnd()
        // The first pages are the schema's: without it nothing opens.
        let middle = size / 4096 / 2 * 4096
        try file.seek(toOffset: middle)
        try file.write(contentsOf: Data(repeating: 0x5A, count: 8192))
        try file.close()
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        guard case .damaged(let words) = try store.soundness(bytesMax: 1 << 30) else {
            Issue.record("it is not found")
            return
        }
        #expect(!words.isEmpty)
    }

    @Test func aClosedStoreSaysSo() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        store.close()
        #expect(throws: StoreError.self) { try store.soundness(bytesMax: 1 << 30) }
    }
}
