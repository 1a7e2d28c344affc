internal import Glibc

/// Why a ``StreamSocket`` is closed.
public enum CloseReason: Sendable, Hashable, CustomStringConvertible {
    /// This side closed it, or its loop was stopped.
    case closedHere
    /// The other side finished sending, and everything it sent was received.
    case ended
    /// The other side cut it, or vanished without an end.
    case reset
    /// TCP gave up: nothing sent was acknowledged for ``StreamSocket/userTimeoutMs``.
    case timedOut
    /// The other side did not read, and more than ``StreamSocket/queueMax`` bytes waited for it.
    case slowReader
    /// Another error of the system, by its errno.
    case failed(errno: Int32)

    init(errno: Int32) {
        switch errno {
        case ECONNRESET, EPIPE, ECONNABORTED, ECONNREFUSED: self = .reset
        case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH: self = .timedOut
        default: self = .failed(errno: errno)
        }
    }

    public var description: String {
        switch self {
        case .closedHere: "closed here"
        case .ended: "ended by the other side"
        case .reset: "cut by the other side"
        case .timedOut: "timed out"
        case .slowReader: "the other side reads too slowly"
        case .failed(let errno): NetError(errno: errno, operation: "socket").description
        }
    }
}
