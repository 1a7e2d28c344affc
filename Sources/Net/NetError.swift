internal import Glibc

/// Why an operation on the network or on a lock file did not succeed.
///
/// `description` is fit for a person and never holds payload; `debugDescription` adds the system call and its errno.
public struct NetError: Error, Hashable, Sendable {
    /// What kind of failure it was. More codes may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Another socket already listens there.
        public static let addressInUse = Code(rawValue: "the address is already in use")
        /// The address does not belong to this host, or its family is not available here.
        public static let addressNotAvailable = Code(rawValue: "the address is not available on this host")
        /// The system forbids it.
        public static let permissionDenied = Code(rawValue: "permission denied")
        /// The host answered that nothing listens there.
        public static let refused = Code(rawValue: "connection refused")
        /// No route to the host or network.
        public static let unreachable = Code(rawValue: "host or network unreachable")
        /// No answer within the time given.
        public static let timedOut = Code(rawValue: "no answer in time")
        /// The other side cut the connection.
        public static let reset = Code(rawValue: "connection reset")
        /// The process or the system has no descriptors left; trying later can succeed.
        public static let tooManyDescriptors = Code(rawValue: "too many open descriptors")
        /// A Unix socket's path is empty, holds a NUL or does not fit into `sun_path` (107 bytes).
        public static let badPath = Code(rawValue: "unusable socket path")
        /// Something that is not ours, or not of the expected kind, stands at the path.
        public static let foreignFile = Code(rawValue: "the path is taken by a file that is not ours")
        /// The name is not known to the resolver, or is no host name.
        public static let unknownHost = Code(rawValue: "unknown host")
        /// Too many requests of this kind are waiting already.
        public static let busy = Code(rawValue: "too many requests are waiting")
        /// Anything else; see ``NetError/errno``.
        public static let other = Code(rawValue: "system error")
    }

    public let code: Code
    /// The errno behind it, 0 if none.
    public let errno: Int32
    /// The system call or step that failed.
    public let operation: String

    public init(_ code: Code, errno: Int32 = 0, operation: String) {
        self.code = code
        self.errno = errno
        self.operation = operation
    }

    /// The error behind an errno value, classified.
    init(errno: Int32, operation: String) {
        self.init(Self.code(of: errno), errno: errno, operation: operation)
    }

    /// The error behind the calling thread's current errno.
    static func current(_ operation: String) -> NetError {
        NetError(errno: Glibc.errno, operation: operation)
    }

    private static func code(of errno: Int32) -> Code {
        switch errno {
        case EADDRINUSE: .addressInUse
        case EADDRNOTAVAIL, EAFNOSUPPORT, EPROTONOSUPPORT: .addressNotAvailable
        case EACCES, EPERM: .permissionDenied
        case ECONNREFUSED: .refused
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: .unreachable
        case ETIMEDOUT: .timedOut
        case ECONNRESET, EPIPE, ECONNABORTED: .reset
        case EMFILE, ENFILE: .tooManyDescriptors
        case ENAMETOOLONG: .badPath
        case ELOOP: .foreignFile
        default: .other
        }
    }
}

extension NetError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        code == .other && errno != 0 ? systemText : code.rawValue
    }

    public var debugDescription: String {
        errno == 0 ? "\(operation): \(code.rawValue)" : "\(operation): \(systemText) (errno \(errno))"
    }

    private var systemText: String {
        // Never NULL, and per thread in glibc (strerror(3)).
        unsafe String(cString: strerror(errno))
    }
}
