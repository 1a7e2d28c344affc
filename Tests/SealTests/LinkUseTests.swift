import Seal
import Testing

/// Uses links as another module does, without what only `@testable` shows: what compiles here compiles in the daemon.
@Suite struct LinkUseTests {
    /// One end of a connection the way a caller may keep it.
    final class End {
        var initiator: LinkInitiator?
        var responder: LinkResponder?
        var sealer: FrameSealer?
        var opener: FrameOpener?
        var peer: Bytes32?
        var messages: [[UInt8]] = []

        init(_ initiator: consuming LinkInitiator) { self.initiator = consume initiator }

        init(_ responder: consuming LinkResponder) { self.responder = consume responder }

        /// What is to be written after `bytes` have come in.
        func receive(_ bytes: [UInt8]) throws -> [UInt8] {
            if let opened = try opener?.receive(bytes) {
                messages += opened
                return []
            }
            if let step = try initiator?.receive(bytes) { return try act(on: step) }
            if let step = try responder?.receive(bytes) { return try act(on: step) }
            return []
        }

        private func act(on step: consuming LinkStep) throws -> [UInt8] {
            switch consume step {
            case .needMore:
                return []
            case .write(let bytes):
                return bytes
            case .established(let bytes, let session):
                initiator = nil
                responder = nil
                peer = session.peerIdentity
                let leftover = session.leftover
                sealer = consume session.sealer
                opener = consume session.opener
                if let opened = try opener?.receive(leftover) { messages += opened }
                return bytes
            }
        }
    }

    @Test func aLinkFromOutside() throws {
        let psk = LinkKey.psk(networkKey: SecureRandom.bytes32())
        let workspace = SecureRandom.bytes32()
        let (dialler, host) = (SigningKey(), SigningKey())
        var initiator = LinkInitiator(
            psk: psk, workspace: workspace, identity: dialler, payload: [1], expectedPeer: host.publicKey)
        let first = try initiator.start()
        let left = End(initiator)
        let right = End(LinkResponder(psks: [psk], workspace: workspace, identity: host, payload: [2]))
        let second = try right.receive(first)
        var third = try left.receive(second)
        if let frame = try left.sealer?.seal(Array("right behind".utf8)) { third += frame }
        #expect(try right.receive(third).isEmpty)
        #expect(left.peer == host.publicKey)
        #expect(right.peer == dialler.publicKey)
        #expect(right.messages == [Array("right behind".utf8)])
        let answer = try #require(try right.sealer?.seal(Array("hello".utf8)))
        _ = try left.receive(answer)
        #expect(left.messages == [Array("hello".utf8)])
    }
}
