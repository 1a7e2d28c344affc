/// Why a node cannot start or go on; words for the person who started it.
public struct NodeError: Error, Sendable, Equatable, CustomStringConvertible {
    public struct Code: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another daemon owns this home.
        public static let alreadyRunning = Code(rawValue: "already_running")
        /// A directory or file belongs to somebody else, or others may read or change it.
        public static let unsafeFile = Code(rawValue: "unsafe_file")
        /// A file cannot be read or written.
        public static let fileSystem = Code(rawValue: "file_system")
        /// There is no room for a file.
        public static let diskFull = Code(rawValue: "disk_full")
        /// An address cannot be listened on, or is none.
        public static let network = Code(rawValue: "network")
        /// An option has a value that is not possible.
        public static let usage = Code(rawValue: "usage")
    }

    public let code: Code
    public let description: String

    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
