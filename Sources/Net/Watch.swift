internal import CPosix

/// What a descriptor can be ready for, as sets of bits (CPosix).
enum Readiness {
    static let readable = UInt32(STARLING_READABLE)
    static let writable = UInt32(STARLING_WRITABLE)
    static let failed = UInt32(STARLING_FAILED)
    static let hungUp = UInt32(STARLING_HUNG_UP)
}

/// A descriptor's place in an event loop.
struct Watch {
    let descriptor: Int32
    let token: UInt64
    /// What is waited for; nil while it is out of the epoll set.
    var events: UInt32?
}
