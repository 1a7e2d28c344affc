internal import CSodium

/// An X25519 key pair (RFC 7748) for key agreement. Copies share one secret, which is wiped with the last of them.
public struct X25519KeyPair: Sendable {
    private let secret: Secret

    /// The 32 bytes that the other side needs.
    public let publicKey: Bytes32

    /// The pair that a link's static key comes from unless another is given. The protocol wants one for the life of a
    /// process: identities are proved by signatures, so it need not be stored.
    public static let process = X25519KeyPair()

    /// A fresh random pair.
    public init() {
        self.init(secret: SecureRandom.bytes32())
    }

    /// The pair with this secret scalar, clamped in use as RFC 7748 says.
    public init(secret: Bytes32) {
        Sodium.start()
        let copy = Secret(secret)
        self.secret = copy
        publicKey = unsafe Bytes32 { output in
            unsafe copy.withBytes { _ = unsafe crypto_scalarmult_curve25519_base(output, $0) }
        }
    }

    /// The shared secret; throws `weakKey` where it would be all zero, that is for every public key of small order.
    func agree(with publicKey: Bytes32) throws(NoiseError) -> Secret {
        var status: Int32 = -1
        let shared = unsafe Secret(count: 32) { output in
            unsafe secret.withBytes { secret in
                unsafe publicKey.withBytes { status = unsafe crypto_scalarmult_curve25519(output, secret, $0) }
            }
        }
        guard status == 0 else { throw .weakKey }
        return shared
    }
}

extension X25519KeyPair: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The public key; never the secret.
    public var description: String { "X25519KeyPair(\(publicKey))" }

    /// The public key; never the secret.
    public var debugDescription: String { description }

    /// The public key; `dump` and debuggers go through here.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
