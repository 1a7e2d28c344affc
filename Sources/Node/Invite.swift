internal import CBOR
public import Net
internal import Seal
internal import Tree

/// What somebody needs to become a member of a private workspace, as one link.
///
/// Whoever has the link has the key: it is to be passed on like one. That it expires is a rule that `join` keeps; only
/// a new epoch makes the key in an old link worthless.
public struct Invite: Sendable, Equatable {
    /// What every link begins with.
    public static let scheme = "starling://join/"
    /// Characters of a link; a longer one is none.
    public static let linkMax = 1024
    private static let version: UInt64 = 1
    private static let checkBytes = 4

    /// Without earlier keys: a newcomer has missed nothing.
    public let workspace: Workspace
    /// Milliseconds since 1970 by the joining machine's clock; nil if it does not expire.
    public let expiresMs: UInt64?
    /// Where members were when it was made.
    public let addresses: [SocketAddress]

    init(_ workspace: Workspace, expiresMs: UInt64?, addresses: [SocketAddress]) {
        self.workspace = Workspace(
            name: workspace.name, id: workspace.id, networkKey: workspace.networkKey, creator: workspace.creator,
            epoch: workspace.epoch)
        self.expiresMs = expiresMs
        self.addresses = Array(addresses.prefix(Membership.addressesMax))
    }

    /// The link: CBOR of `[1, name, id, creator, epoch, key, expires or 0, [address and port…]]` with the first four
    /// bytes of its hash behind it, so that a damaged one is told from a foreign one.
    public var link: String {
        var writer = CBORWriter(reserving: 256)
        writer.array(8)
        writer.unsigned(Invite.version)
        writer.text(workspace.name)
        writer.byteString(workspace.id.bytes)
        writer.byteString(workspace.creator?.bytes ?? [])
        writer.unsigned(workspace.epoch)
        writer.byteString(workspace.networkKey.bytes)
        writer.unsigned(expiresMs ?? 0)
        writer.array(addresses.count)
        for address in addresses {
            let port = [UInt8(truncatingIfNeeded: address.port >> 8), UInt8(truncatingIfNeeded: address.port)]
            writer.byteString(address.ipBytes + port)
        }
        return Invite.scheme + KeyText.encode(writer.bytes + Invite.check(writer.bytes))
    }

    /// Reads a link, with spaces and line breaks around it.
    ///
    /// - Throws: ``NodeError`` with the code `usage`, in words for whoever was given the link.
    public init(link: String) throws(NodeError) {
        let blanks: Set<Character> = [" ", "\n", "\r", "\t"]
        let text = String(link.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
        guard text.hasPrefix(Invite.scheme), text.utf8.count <= Invite.linkMax else {
            throw NodeError(.usage, "that is no invite: one begins with \(Invite.scheme)")
        }
        guard let bytes = KeyText.decode(String(text.dropFirst(Invite.scheme.count))), bytes.count > Invite.checkBytes,
            bytes.suffix(Invite.checkBytes).elementsEqual(Invite.check(Array(bytes.dropLast(Invite.checkBytes))))
        else {
            throw NodeError(.usage, "that invite is damaged: a part is missing or was changed; copy all of it again")
        }
        guard let invite = Invite(decoding: Array(bytes.dropLast(Invite.checkBytes))) else {
            throw NodeError(.usage, "that invite is of another version of Starling, or makes no sense")
        }
        self = invite
    }

    private init?(decoding bytes: [UInt8]) {
        var reader = CBORReader(bytes)
        guard let count = try? reader.array(), count == 8, (try? reader.unsigned()) == Invite.version,
            let name = try? reader.text(), Workspace.isName(name),
            let id = (try? reader.byteString()).flatMap({ Bytes32($0) }), id != Workspace.open.id,
            let creator = (try? reader.byteString()).flatMap({ Bytes32($0) }), let epoch = try? reader.unsigned(),
            let key = (try? reader.byteString()).flatMap({ Bytes32($0) }), let expires = try? reader.unsigned(),
            let addressCount = try? reader.array(), addressCount <= Membership.addressesMax
        else { return nil }
        var addresses: [SocketAddress] = []
        for _ in 0..<addressCount {
            guard let bytes = try? reader.byteString(), bytes.count >= 2 else { return nil }
            let port = bytes.suffix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
            let ip = Array(bytes.dropLast(2))
            guard let address = SocketAddress(ipv4: ip, port: port) ?? SocketAddress(ipv6: ip, scope: 0, port: port)
            else { return nil }
            addresses.append(address)
        }
        guard (try? reader.expectEnd()) != nil else { return nil }
        self.init(
            Workspace(name: name, id: id, networkKey: key, creator: creator, epoch: epoch),
            expiresMs: expires == 0 ? nil : expires, addresses: addresses.filter(\.isDialable))
    }

    private static func check(_ bytes: [UInt8]) -> [UInt8] { Array(BLAKE2b.hash(bytes).bytes.prefix(checkBytes)) }
}
