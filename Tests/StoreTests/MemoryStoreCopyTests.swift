import Seal
import Store
import Testing
import Tree

@Suite struct MemoryStoreCopyTests {
    /// A copy has all that the store has, whatever that is, and goes its own way.
    @Test func aCopyIsTheSameAndAnother() throws {
        let store = MemoryStore()
        for number: UInt64 in 0..<5 {
            let first = try testEntry("apps/a/\(number)", .integer(1), ms: 10 * number + 1)
            let second = try testEntry("apps/b/\(number)", .integer(2), ms: 10 * number + 2)
            _ = try store.commit([testBundle([first, second])], heldAfter: farFuture)
        }
        // A grave, a priority, a message, something held.
        let other = Bytes32(repeating: 2)
        try store.commit(testEntry("apps/a/1", .null, ms: 500, author: other))
        let priority = try #require(testPath("apps/b/2").appending(.priority))
        try store.commit(Entry(path: priority, hlc: HLC(ms: 501), author: other, value: .integer(1)))
        try store.commit(testEntry("channels/c/messages/m", .string("text"), ms: 502))
        try store.commit(testEntry("apps/c", .integer(1), ms: 900), heldAfter: HLC(ms: 800))
        store.setSetting("name", [1, 2, 3])
        try store.changeDisconnectWrites(of: 1, removing: [], adding: [PathKey(testPath("apps/x")): [1]])
        let copy = store.copy()
        // Copies share their storage until one is written to, so even hash tables are in the same order.
        let (old, new) = (Mirror(reflecting: store).children, Mirror(reflecting: copy).children)
        #expect(old.count == new.count && old.count > 10)
        for (a, b) in zip(old, new) { #expect(String(describing: a.value) == String(describing: b.value)) }
        let before = store.digest(of: .root)
        try copy.commit(testEntry("apps/d", .integer(1), ms: 600))
        #expect(store.digest(of: .root) == before)
        #expect(copy.entryCount == store.entryCount + 1)
    }
}
