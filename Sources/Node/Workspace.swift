public import Seal

/// What nodes must share to talk: an id that outlives key changes, and the current network key.
public struct Workspace: Sendable, Equatable {
    public let name: String
    public let id: Bytes32
    /// The key of the present epoch.
    public private(set) var networkKey: Bytes32
    /// Who has made it, and may remove others; nil for the open one.
    public let creator: Bytes32?
    /// How often the key was changed.
    public private(set) var epoch: UInt64
    /// Keys of the epochs before, the latest first: good for handing over the present one, and for nothing else.
    public private(set) var previousKeys: [Bytes32]

    /// Keys kept of earlier epochs: who was away for more changes than that needs a new invite. Each costs a few hashes
    /// at every connection of a stranger.
    public static let previousKeysMax = 8
    /// UTF-8 bytes of a name.
    public static let nameMax = 80

    public init(
        name: String, id: Bytes32, networkKey: Bytes32, creator: Bytes32? = nil, epoch: UInt64 = 0,
        previousKeys: [Bytes32] = []
    ) {
        self.name = name
        self.id = id
        self.networkKey = networkKey
        self.creator = creator
        self.epoch = epoch
        self.previousKeys = Array(previousKeys.prefix(Workspace.previousKeysMax))
    }

    /// A new private workspace with an id and a key of its own.
    public init(name: String, creator: Bytes32) {
        self.init(name: name, id: SecureRandom.bytes32(), networkKey: SecureRandom.bytes32(), creator: creator)
    }

    /// The workspace of everybody who configures nothing. Its key is a public constant: the code is the same, and links
    /// are encrypted, but anybody on the network may join.
    public static let open = Workspace(
        name: "open", id: BLAKE2b.hash(Array("starling/workspace/open".utf8)),
        networkKey: BLAKE2b.hash(Array("starling/network/open".utf8)))

    public var isOpen: Bool { id == Workspace.open.id }

    /// The same workspace with the key of a later epoch.
    func moved(to key: Bytes32, epoch: UInt64) -> Workspace {
        let previous = key == networkKey ? previousKeys : [networkKey] + previousKeys
        return Workspace(
            name: name, id: id, networkKey: key, creator: creator, epoch: epoch, previousKeys: previous)
    }

    /// What a link may begin with, the present epoch's first.
    var psks: [Bytes32] { ([networkKey] + previousKeys).map(LinkKey.psk(networkKey:)) }

    /// Whether a person may call a workspace so: no name of the open one, nothing that a terminal or a file would take
    /// for something else.
    static func isName(_ name: String) -> Bool {
        (1...nameMax).contains(name.utf8.count) && name != Workspace.open.name
            && !name.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
            && name.first?.isWhitespace == false && name.last?.isWhitespace == false
            && name.unicodeScalars.first.map(joinsWhatIsBefore) == false
    }

    /// An accent without a letter stands on whatever comes before the name.
    private static func joinsWhatIsBefore(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .format: true
        default: false
        }
    }
}
