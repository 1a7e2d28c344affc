public import Seal

/// What nodes must share to talk: an id that outlives key changes, and the current network key.
public struct Workspace: Sendable {
    public let name: String
    public let id: Bytes32
    public let networkKey: Bytes32

    public init(name: String, id: Bytes32, networkKey: Bytes32) {
        self.name = name
        self.id = id
        self.networkKey = networkKey
    }

    /// The workspace of everybody who configures nothing. Its key is a public constant: the code is the same, and links
    /// are encrypted, but anybody on the network may join.
    public static let open = Workspace(
        name: "open", id: BLAKE2b.hash(Array("starling/workspace/open".utf8)),
        networkKey: BLAKE2b.hash(Array("starling/network/open".utf8)))
}
