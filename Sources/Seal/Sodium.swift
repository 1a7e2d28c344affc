internal import CSodium

/// The one place that starts libsodium.
enum Sodium {
    /// Touch this before the first call into libsodium: it picks the fastest implementations and opens the random
    /// source. `sodium_init` is thread-safe and fails only where the system has no random source; there nothing could
    /// go on safely.
    static let isReady: Bool = {
        precondition(sodium_init() >= 0, "libsodium cannot start: no random source")
        return true
    }()

    @inline(__always)
    static func start() {
        _ = isReady
    }
}
