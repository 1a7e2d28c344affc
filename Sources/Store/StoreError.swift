/// Why the store could not do what it was asked.
///
/// After any of these the store holds exactly what it held before the call, and goes on answering reads where the file
/// allows.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What kind of failure; more may be added.
    public struct Code: Sendable, Hashable {
        private enum Name: Sendable {
            case diskFull, corrupt, inUse, cannotOpen, foreign, newer, inputOutput, unverifiedBundle, closed, other
        }

        private let name: Name

        /// No room on the disk (`SQLITE_FULL`). Reads go on; writes succeed again when there is room.
        public static let diskFull = Code(name: .diskFull)
        /// The file is no database or its content contradicts itself: set it aside and rebuild from peers.
        public static let corrupt = Code(name: .corrupt)
        /// Another process has the database open.
        public static let inUse = Code(name: .inUse)
        /// The file cannot be created or opened: missing folder, permissions.
        public static let cannotOpen = Code(name: .cannotOpen)
        /// A sound database, but another program's.
        public static let foreign = Code(name: .foreign)
        /// Written by a newer version of this program.
        public static let newer = Code(name: .newer)
        /// The disk or the file system failed.
        public static let inputOutput = Code(name: .inputOutput)
        /// A bundle whose leaves and hashes do not fit together reached `commit`: its caller did not verify it.
        public static let unverifiedBundle = Code(name: .unverifiedBundle)
        /// The store was closed before.
        public static let closed = Code(name: .closed)
        /// Anything else that SQLite reports.
        public static let other = Code(name: .other)
    }

    public let code: Code
    /// SQLite's extended result code, 0 where SQLite was not involved (its "Result and Error Codes").
    public let resultCode: Int32
    /// What SQLite says about it; may name tables, never holds values.
    let detail: String

    init(_ code: Code, resultCode: Int32 = 0, detail: String = "") {
        self.code = code
        self.resultCode = resultCode
        self.detail = detail
    }

    /// Whether it helps to make room and try again.
    public var isDiskFull: Bool { code == .diskFull }
    /// Whether the file has to be set aside.
    public var isCorrupt: Bool { code == .corrupt }

    public var description: String {
        switch code {
        case .diskFull: "the disk is full"
        case .corrupt: "the database is damaged"
        case .inUse: "another process has the database open"
        case .cannotOpen: "the database cannot be opened"
        case .foreign: "the file is another program's database"
        case .newer: "the database was written by a newer version"
        case .inputOutput: "reading or writing the database failed"
        case .unverifiedBundle: "a bundle was not verified before it was stored"
        case .closed: "the database is closed"
        default: "the database reported an error"
        }
    }

    public var debugDescription: String { "\(description) (\(resultCode): \(detail))" }
}
