/// Where a daemon's socket and log may be, from `--home` or the environment.
public struct SocketPlaces: Sendable, Equatable {
    /// The longest path of a Unix socket: `sun_path` holds 108 bytes with the final NUL (unix(7)).
    public static let pathMax = 107

    /// Absolute paths in the order to try them.
    public let sockets: [String]
    /// Where a daemon started from here writes its log.
    public let log: String
    /// The absolute directory of `--home` or `STARLING_HOME`; nil for the XDG places.
    public let home: String?

    /// What the places are computed from.
    public struct Surroundings: Sendable {
        public var environment: [String: String]
        /// Home directory of the user in the password file, for when `HOME` is not set; nil if there is none.
        public var passwordHome: String?
        public var userID: UInt32
        public var currentDirectory: String

        public init(environment: [String: String], passwordHome: String?, userID: UInt32, currentDirectory: String) {
            self.environment = environment
            self.passwordHome = passwordHome
            self.userID = userID
            self.currentDirectory = currentDirectory
        }

        /// A variable that is set and not empty.
        func variable(_ name: String) -> String? {
            guard let value = environment[name], !value.isEmpty else { return nil }
            return value
        }

        /// A variable with an absolute path; XDG wants others ignored (XDG Base Directory Specification 0.8).
        func directory(_ name: String) -> String? {
            guard let value = variable(name), value.hasPrefix("/") else { return nil }
            return value
        }
    }

    /// With a home: its socket alone. Without: the runtime directory, then `~/.local/state/starling`. Where
    /// `XDG_RUNTIME_DIR` is not set (cron), `/run/user/UID` stands in for it, because the daemon of a login session
    /// listens there.
    ///
    /// - Throws: ``ClientError/pathTooLong(_:)``, ``ClientError/noHome``.
    public init(home option: String?, _ surroundings: Surroundings) throws(ClientError) {
        if let given = option ?? surroundings.variable("STARLING_HOME"), !given.isEmpty {
            let directory = Self.absolute(given, from: surroundings.currentDirectory)
            home = directory
            sockets = [try Self.checked(directory + "/starling.sock")]
            log = directory + "/starlingd.log"
            return
        }
        guard let user = surroundings.directory("HOME") ?? surroundings.passwordHome else { throw .noHome }
        let runtime = surroundings.directory("XDG_RUNTIME_DIR") ?? "/run/user/\(surroundings.userID)"
        home = nil
        sockets = [
            try Self.checked(runtime + "/starling/starling.sock"),
            try Self.checked(user + "/.local/state/starling/starling.sock"),
        ]
        log = (surroundings.directory("XDG_STATE_HOME") ?? user + "/.local/state") + "/starling/starlingd.log"
    }

    private static func checked(_ path: String) throws(ClientError) -> String {
        guard path.utf8.count <= pathMax else { throw .pathTooLong(path) }
        return path
    }

    private static func absolute(_ path: String, from directory: String) -> String {
        var path = path.hasPrefix("/") ? path : directory + "/" + path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// The command that starts the daemon of these places.
    public var startCommand: String { "\(command) daemon start" }

    /// How a command of `starling` begins that goes to the daemon of these places, as a shell takes it.
    public var command: String { home.map { "starling --home \(shellQuoted($0))" } ?? "starling" }

    private func shellQuoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: ","):
                true
            default: false
            }
        }
        guard !plain else { return word }
        // By scalars: a quotation mark and an accent after it are one character.
        let parts = word.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}
