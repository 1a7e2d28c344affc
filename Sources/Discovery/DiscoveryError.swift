/// Why a configuration was refused. Avahi's own troubles are not errors but states, see ``DiscoveryState``.
public struct DiscoveryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was wrong; more may be added.
    public struct Code: Hashable, Sendable {
        /// The instance name is empty or longer than 63 bytes (RFC 6763 section 7.2), or holds a zero byte.
        public static let invalidInstanceName = Code(text: "the instance name must have 1 to 63 bytes and no zero byte")
        /// The service type is not of the form `_name._tcp` (RFC 6763 section 7).
        public static let invalidServiceType = Code(text: "the service type must be of the form _name._tcp")
        /// The port is 0.
        public static let invalidPort = Code(text: "the port must be 1 to 65535")
        /// A TXT key is empty or holds something else than printable ASCII without `=` (RFC 6763 section 6.4).
        public static let invalidTXTKey = Code(text: "a TXT key must be printable ASCII without '='")
        /// The TXT record would have 200 bytes or more.
        public static let txtTooLong = Code(text: "the TXT record must stay under \(TXTRecord.ownSizeMax + 1) bytes")

        let text: String
    }

    /// What was wrong.
    public let code: Code

    init(_ code: Code) {
        self.code = code
    }

    public var description: String {
        code.text
    }
}
