import Glibc
import Lab
import Seal
import Tree
import Wire

/// A node that knows the network key and keeps none of the rules.
final class Intruder {
    static let workspace = BLAKE2b.hash(Array("starling/workspace/open".utf8))
    static let networkKey = BLAKE2b.hash(Array("starling/network/open".utf8))

    let key = SigningKey()
    private let connection: RawConnection
    private var sealer: FrameSealer

    init(port: Int) throws {
        connection = try RawConnection(port: port)
        var initiator = LinkInitiator(
            psk: LinkKey.psk(networkKey: Self.networkKey), workspace: Self.workspace, identity: key,
            payload: LinkPayload(instance: 1, port: 0).encoded)
        connection.send(try initiator.start())
        while true {
            guard let bytes = connection.receive(within: .seconds(5)), !bytes.isEmpty else {
                throw LabError("the handshake was refused")
            }
            switch try initiator.receive(bytes) {
            case .needMore: continue
            case .write(let bytes): connection.send(bytes)
            case .established(let bytes, let session):
                connection.send(bytes)
                sealer = consume session.sealer
                return
            }
        }
    }

    func send(_ message: PeerMessage) throws {
        connection.send(try sealer.seal(message.encoded))
    }

    /// An entry as this node or somebody else would write it now.
    func entry(_ path: String, _ value: Value, author: Bytes32? = nil) throws -> Entry {
        let now = UInt64(time(nil)) * 1_000
        return try Entry(path: Path(parsing: path), hlc: HLC(ms: now), author: author ?? key.publicKey, value: value)
    }

    /// A bundle that says another author than the key it was signed with.
    func forged(_ entry: Entry) throws -> Bundle {
        let own = Bundle(signing: [entry], by: key, workspace: Self.workspace)
        return Bundle(
            author: entry.author, count: 1, signature: own.signature, leaves: own.leaves, omitted: own.omitted)
    }

    func signed(_ entry: Entry) -> Bundle { Bundle(signing: [entry], by: key, workspace: Self.workspace) }
}
