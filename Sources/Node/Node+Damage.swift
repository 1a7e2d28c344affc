internal import Net
internal import Replication
internal import Store

/// A database that turns out to be damaged: it is set aside, not deleted, and its content comes back from the peers.
extension Node {
    /// So long after a database was replaced the next is not, whatever it says; and one that could not be is tried
    /// again.
    static let replaceMsDefault: UInt64 = 60_000

    /// Opens the database, in place of one that cannot be read if need be.
    static func openStore(_ path: String, _ log: Log) throws -> DatabaseStore {
        do {
            return try store(at: path)
        } catch let error as StoreError where error.isCorrupt {
            return try replaced(path, error, log)
        }
    }

    /// A loop has others to serve while children are put in order.
    private static func store(at path: String) throws -> DatabaseStore {
        let store = try DatabaseStore(path: path)
        store.orderOptions.isDeferred = true
        return store
    }

    private static func replaced(_ path: String, _ error: StoreError, _ log: Log) throws -> DatabaseStore {
        let aside = "\(path).corrupt-\(WallClock.milliseconds())"
        if NodeHome.exists(path) {
            log.error("the database is damaged (\(error)); it is set aside as \(aside) and rebuilt from peers")
        }
        // The log first: a new database must never meet the old one's log.
        for suffix in ["-wal", "-shm", ""] where NodeHome.exists(path + suffix) {
            try NodeHome.rename(path + suffix, to: aside + suffix)
        }
        return try store(at: path)
    }

    /// Looks whether an error says that the database is damaged. It is replaced once somebody is connected who can give
    /// back what it held: until then, what can still be read of it is better than nothing.
    func noticeDamage(_ error: any Error) {
        guard let error = error as? StoreError, error.isCorrupt, !isStopping, !connectedNodes.isEmpty else { return }
        let nowMs = EventLoop.monotonicMs()
        guard nowMs >= replaceNotBeforeMs else { return }
        replaceNotBeforeMs = nowMs &+ replaceMs
        // In a turn of its own: whoever met the error is in the middle of something.
        loop.execute { self.assumeIsolated { $0.replaceStore(error) } }
    }

    private func replaceStore(_ error: StoreError) {
        guard !isStopping else { return }
        replaceNotBeforeMs = EventLoop.monotonicMs() &+ replaceMs
        store.close()
        do {
            store = try Node.replaced(options.home.databasePath, error, log)
        } catch let failure {
            return replaceLater(error, because: failure)
        }
        (certifiedChannels, storedNames) = ([:], [:])
        forgetHeld()
        do {
            try keepDisconnects()
            try keepMarks()
            try keepWorkspace()
            try rememberNamed()
        } catch {
            report(error, "writing down again what the database held of this node alone")
        }
        rememberPeers()
        step(.compareNow)
    }

    /// A disk that is full or read-only is not so for ever. Until then the old database is better than none, if it is
    /// still there and opens.
    private func replaceLater(_ error: StoreError, because failure: any Error) {
        log.error("the database cannot be replaced: \(failure); the next attempt is in \(replaceMs / 1000) s")
        let path = options.home.databasePath
        if NodeHome.exists(path), let old = try? Node.store(at: path) { store = old }
        // It comes by itself, and once.
        replaceNotBeforeMs = .max
        _ = loop.schedule(afterMs: replaceMs) { self.assumeIsolated { $0.replaceStore(error) } }
    }
}
