/// Whether this machine's responder does its part.
public enum DiscoveryState: Hashable, Sendable {
    /// Nothing is announced and nothing found; tried again by itself, after 1 s at first and 60 s at most.
    case down(Reason)
    /// The responder answers; the announcement is not confirmed yet.
    case starting
    /// Announced and looking.
    case up

    /// Why discovery is down, in words for `status` and `doctor`.
    public enum Reason: Hashable, Sendable, CustomStringConvertible {
        /// Avahi or D-Bus is not installed, not started, or went away.
        case notRunning
        /// A call has been waiting for an answer for over 5 s. What was announced and found may be so still: if the
        /// answer comes, only the state is said anew.
        case waiting
        /// A call has waited for an answer in vain.
        case notAnswering
        /// Avahi answers, but has not confirmed the announcement within 10 s.
        case notRegistering
        /// Avahi answers, and refuses the announcement, as one that is configured not to publish.
        case refused
        /// The system gave no thread or descriptors.
        case noThread

        public var description: String {
            switch self {
            case .notRunning: "Avahi is not running"
            case .waiting, .notAnswering: "Avahi does not answer"
            case .notRegistering: "Avahi does not confirm the registration"
            case .refused: "Avahi refuses to announce it"
            case .noThread: "no thread could be started"
            }
        }
    }
}

/// An instance of the service, as seen on one interface. A suggestion where to connect, nothing more: whoever is on the
/// network can say anything here.
public struct Sighting: Hashable, Sendable {
    /// A raw IP address.
    public struct Address: Hashable, Sendable {
        /// 4 bytes for IPv4, 16 for IPv6, in network order.
        public let bytes: [UInt8]
        /// The interface to send through (`sin6_scope_id`) for link-local IPv6 addresses, otherwise 0.
        public let scopeID: UInt32

        /// An address; see the properties.
        public init(bytes: [UInt8], scopeID: UInt32 = 0) {
            self.bytes = bytes
            self.scopeID = scopeID
        }
    }

    /// The instance's name, see ``DiscoveryEvent``.
    public let instance: String
    /// The interface on which it was seen.
    public let interfaceIndex: UInt32
    /// The name of the machine, escaped like instance names.
    public let host: String
    /// At least 1 and at most 16 addresses.
    public let addresses: [Address]
    /// The TCP port, never 0.
    public let port: UInt16
    /// The TXT record's values; keys are in lower case.
    public let txt: [String: [UInt8]]

    /// A sighting; see the properties.
    public init(
        instance: String, interfaceIndex: UInt32, host: String, addresses: [Address], port: UInt16,
        txt: [String: [UInt8]]
    ) {
        self.instance = instance
        self.interfaceIndex = interfaceIndex
        self.host = host
        self.addresses = addresses
        self.port = port
        self.txt = txt
    }
}

/// What discovery has to say.
///
/// Instance names are printable ASCII: every other byte, and the backslash, is written `\xNN`. So names are safe to
/// print and equal only if their bytes are.
public enum DiscoveryEvent: Hashable, Sendable {
    /// The state has changed.
    case state(DiscoveryState)
    /// The announcement is out, under this name: Avahi renames one that is taken elsewhere.
    case registered(String)
    /// An instance has been resolved, on first sight, when its addresses become more, and after
    /// ``DiscoveryService/resolveAgain(_:)`` also when nothing has changed. Never this service's own.
    case found(Sighting)
    /// An instance that was found is announced no longer. Not a sign that it is gone, nor is the lack of this event one
    /// that it is there: only a connection tells.
    case lost(String)
}

extension DiscoveryEvent {
    /// A name's bytes as printable ASCII, losslessly.
    static func escape(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            if (0x20...0x7e).contains(byte), byte != UInt8(ascii: "\\") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16)
                text += digits.count < 2 ? "\\x0\(digits)" : "\\x\(digits)"
            }
        }
        return text
    }
}
