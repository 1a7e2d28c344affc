import Seal
import Store
import Testing
import Tree

/// What clients have left for the end of their sessions: kept until the transaction that carries it out.
@Suite struct DisconnectWriteTests {
    private func key(_ path: String) throws -> PathKey { PathKey(try testPath(path)) }

    @Test(arguments: Backend.allCases) func keptAndForgotten(backend: Backend) throws {
        try backend.with { store in
            #expect(try store.disconnectWrites() == [])
            let (a, b, c) = (try key("x/a"), try key("x/b"), try key("x/c"))
            try store.changeDisconnectWrites(of: 2, removing: [], adding: [b: [2], a: [1]])
            try store.changeDisconnectWrites(of: 1, removing: [a], adding: [c: []])
            try store.changeDisconnectWrites(of: 2, removing: [b], adding: [b: [3], a: [4]])
            let kept = [
                DisconnectWrite(session: 1, path: c, content: []), DisconnectWrite(session: 2, path: a, content: [4]),
                DisconnectWrite(session: 2, path: b, content: [3]),
            ]
            #expect(try store.disconnectWrites() == kept)
            let entry = try testEntry("x/b", .integer(3), ms: 5)
            let result = try store.commit([testBundle([entry])], heldAfter: farFuture, endingWrites: [b], of: 2)
            #expect(result.applied == [entry])
            #expect(try store.disconnectWrites() == Array(kept.prefix(2)))
        }
    }

    /// A commit that fails forgets nothing; neither does one of another session.
    @Test(arguments: Backend.allCases) func aFailedCommitForgetsNothing(backend: Backend) throws {
        try backend.with { store in
            let a = try key("x/a")
            try store.changeDisconnectWrites(of: 1, removing: [], adding: [a: [1]])
            let entries = [try testEntry("x/a", .integer(1), ms: 5), try testEntry("x/b", .integer(1), ms: 5)]
            let whole = try testBundle(entries)
            let broken = Bundle(
                author: whole.author, count: 2, signature: whole.signature, leaves: [whole.leaves[0]], omitted: [])
            #expect(throws: StoreError.self) {
                try store.commit([broken], heldAfter: farFuture, endingWrites: [a], of: 1)
            }
            #expect(try store.disconnectWrites().count == 1)
            #expect(try store.entryCount == 0)
            _ = try store.commit([whole], heldAfter: farFuture, endingWrites: [a], of: 2)
            #expect(try store.disconnectWrites().count == 1)
        }
    }

    @Test func thereAfterReopening() throws {
        let folder = try TemporaryFolder()
        let store = try DatabaseStore(path: folder.path("workspace.db"))
        try store.changeDisconnectWrites(of: 7, removing: [], adding: [try key("x/a"): [1, 2]])
        store.close()
        let again = try DatabaseStore(path: folder.path("workspace.db"))
        #expect(try again.disconnectWrites() == [DisconnectWrite(session: 7, path: try key("x/a"), content: [1, 2])])
        again.close()
    }
}
