/// What handshake messages 2 and 3 carry: who is speaking, the proof, and the caller's bytes.
///
/// The signature covers the workspace and the handshake's hash up to here, so that it is worth nothing in any other
/// handshake.
struct LinkClaim {
    let identity: Bytes32
    let payload: [UInt8]

    /// The claim of `key`'s owner, as bytes.
    static func make(by key: SigningKey, workspace: Bytes32, hash: Bytes32, payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(LinkLimits.claimSize + payload.count)
        key.publicKey.append(to: &bytes)
        key.sign(statement(workspace: workspace, hash: hash)).append(to: &bytes)
        bytes += payload
        return bytes
    }

    /// The claim in `bytes`; throws `badIdentity` where the signature does not hold.
    init(_ bytes: [UInt8], workspace: Bytes32, hash: Bytes32) throws(LinkError) {
        guard let identity = Bytes32(bytes.prefix(32)), let signature = Signature(bytes.dropFirst(32).prefix(64)) else {
            throw LinkError(.malformed)
        }
        guard Ed25519.verify(signature, Self.statement(workspace: workspace, hash: hash), by: identity) else {
            throw LinkError(.badIdentity)
        }
        self.identity = identity
        payload = Array(bytes.dropFirst(LinkLimits.claimSize))
    }

    private static func statement(workspace: Bytes32, hash: Bytes32) -> [UInt8] {
        var statement = Array("starling-link-1".utf8)
        workspace.append(to: &statement)
        hash.append(to: &statement)
        return statement
    }
}
