public import ControlAPI

/// Why a command could not do what it was asked.
public enum ClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Nobody listens at any of these sockets; `start` is the command that changes that.
    case noDaemon(tried: [String], start: String)
    /// The socket's path is longer than 107 bytes, the most that `sockaddr_un` holds (unix(7)).
    case pathTooLong(String)
    /// The daemon at this socket belongs to another user.
    case foreignDaemon(String)
    /// No place for a socket could be made out: neither a home directory nor `--home`.
    case noHome
    /// A call of the operating system failed.
    case system(doing: String, errno: Int32)
    /// What answers is no daemon of Starling, or one that speaks another language.
    case protocolViolation(String)
    /// The daemon closed the connection; its last words if it had any.
    case closed(String?)
    case timedOut(doing: String)
    /// The daemon could not be started, in words with the way out.
    case notStarted(String)
    /// The daemon answered with an error.
    case refused(RPCError)

    /// The exit code of a command that fails with this: 3 no daemon, 4 not found or ambiguous, 5 denied, else 1.
    public var exitCode: Int32 {
        switch self {
        case .noDaemon: 3
        case .refused(let error):
            switch error.reason {
            case .notFound, .ambiguousName: 4
            case .permissionDenied: 5
            default: 1
            }
        default: 1
        }
    }

    /// Words for a person. They may hold text from elsewhere: escape them before showing.
    public var description: String {
        switch self {
        case .noDaemon(let tried, let start):
            "no daemon is running (tried \(tried.joined(separator: ", "))); start it with: \(start)"
        case .pathTooLong(let path):
            "the socket path \(path) has \(path.utf8.count) bytes; the system allows \(SocketPlaces.pathMax). "
                + "Choose a shorter --home"
        case .foreignDaemon(let path):
            "the daemon at \(path) belongs to another user, and would not serve you either"
        case .noHome:
            "there is no home directory: set HOME, or choose a directory with --home"
        case .system(let doing, let number):
            "\(doing): \(errorText(number))"
        case .protocolViolation(let words):
            "this is no Starling daemon: \(words)"
        case .closed(let words?):
            "the daemon closed the connection: \(words)"
        case .closed(nil):
            "the daemon closed the connection"
        case .timedOut(let doing):
            "no answer in time: \(doing)"
        case .notStarted(let words):
            words
        case .refused(let error):
            error.description
        }
    }
}
