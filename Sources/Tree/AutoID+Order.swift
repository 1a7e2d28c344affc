extension AutoID {
    /// Where a key stands among those that sort by time: its milliseconds, and the counter of an AutoID.
    ///
    /// - `key`: an AutoID or a push ID of Firebase; any other key counts as the oldest.
    public static func order(of key: String) -> (ms: UInt64, counter: UInt64) {
        if let id = AutoID(key) { return (id.hlc.ms, id.hlc.counter) }
        return (pushIDMs(key) ?? 0, 0)
    }
}
