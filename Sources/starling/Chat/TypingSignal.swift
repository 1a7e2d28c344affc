/// Decides when to tell the others that somebody types.
struct TypingSignal: Sendable {
    /// The state fades after 6 s on the other side; half of that survives a late or lost renewal.
    static let renewalMs: Int64 = 3_000

    private var saidAtMs: Int64?

    /// After each key.
    ///
    /// - Parameters:
    ///   - isComposing: whether a message stands in the line.
    ///   - nowMs: on any clock that only goes forward.
    /// - Returns: what to tell; nil for nothing.
    mutating func keyPressed(isComposing: Bool, nowMs: Int64) -> Bool? {
        guard isComposing else {
            defer { saidAtMs = nil }
            return saidAtMs == nil ? nil : false
        }
        if let saidAtMs, nowMs - saidAtMs < Self.renewalMs { return nil }
        saidAtMs = nowMs
        return true
    }

    /// After a message was sent, or another channel was joined: the others see that for themselves.
    mutating func reset() {
        saidAtMs = nil
    }
}
