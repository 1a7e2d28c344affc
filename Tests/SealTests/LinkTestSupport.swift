import Testing

@testable import Seal

/// Two nodes of one workspace, and the bytes between them.
struct LinkPair: ~Copyable {
    static let psk = LinkKey.psk(networkKey: Bytes32(repeating: 6))
    static let workspace = Bytes32(repeating: 7)
    static let initiatorIdentity = SigningKey(seed: Bytes32(repeating: 8))
    static let responderIdentity = SigningKey(seed: Bytes32(repeating: 9))
    static let initiatorPayload = Array("from the initiator".utf8)
    static let responderPayload = Array("from the responder".utf8)

    var initiator: LinkInitiator
    var responder: LinkResponder

    init(
        initiatorPSK: Bytes32 = psk, responderPSKs: [Bytes32] = [psk], initiatorWorkspace: Bytes32 = workspace,
        initiatorPayload: [UInt8] = initiatorPayload, responderPayload: [UInt8] = responderPayload,
        expectedPeer: Bytes32? = nil
    ) {
        initiator = LinkInitiator(
            psk: initiatorPSK, workspace: initiatorWorkspace, identity: Self.initiatorIdentity,
            payload: initiatorPayload, expectedPeer: expectedPeer,
            staticKey: X25519KeyPair(secret: Bytes32(repeating: 1)),
            ephemeralKey: X25519KeyPair(secret: Bytes32(repeating: 3)))
        responder = LinkResponder(
            psks: responderPSKs, workspace: Self.workspace, identity: Self.responderIdentity, payload: responderPayload,
            staticKey: X25519KeyPair(secret: Bytes32(repeating: 2)),
            ephemeralKey: X25519KeyPair(secret: Bytes32(repeating: 4)))
    }

    /// The three flights as they cross the wire, and both ends' sessions.
    mutating func connect() throws -> Connection {
        let first = try initiator.start()
        let second = try responder.receive(first).written()
        let initiatorEnd = try initiator.receive(second).established()
        let third = initiatorEnd.write
        let responderEnd = try responder.receive(third).established()
        #expect(responderEnd.write.isEmpty)
        return Connection(
            flights: [first, second, third], initiator: initiatorEnd.session, responder: responderEnd.session)
    }

    struct Connection: ~Copyable {
        let flights: [[UInt8]]
        var initiator: LinkSession
        var responder: LinkSession
    }
}

struct Established: ~Copyable {
    let write: [UInt8]
    var session: LinkSession
}

struct UnexpectedStep: Error {}

extension LinkStep {
    consuming func written() throws -> [UInt8] {
        switch consume self {
        case .write(let bytes): return bytes
        default: throw UnexpectedStep()
        }
    }

    consuming func established() throws -> Established {
        switch consume self {
        case .established(let write, let session): return Established(write: write, session: session)
        default: throw UnexpectedStep()
        }
    }

    /// Whether the handshake waits for more bytes.
    consuming func isWaiting() -> Bool {
        switch consume self {
        case .needMore: true
        default: false
        }
    }
}
