internal import CSodium

/// An Ed25519 key pair (RFC 8032): an identity that can sign.
///
/// Copies share one secret, which is wiped when the last copy is gone. Descriptions show the public key alone.
public struct SigningKey: Sendable {
    /// libsodium's 64-byte form: seed, then public key.
    let secret: Secret

    /// The 32 bytes that others verify with.
    public let publicKey: Bytes32

    /// A fresh random key.
    public init() {
        self.init(seed: SecureRandom.bytes32())
    }

    /// The key that RFC 8032 derives from `seed`: whoever has the seed can sign.
    public init(seed: Bytes32) {
        Sodium.start()
        var publicKey = Bytes32.zero
        secret = unsafe Secret(count: 64) { secret in
            publicKey = unsafe Bytes32 { publicKey in
                unsafe seed.withBytes { _ = unsafe crypto_sign_ed25519_seed_keypair(publicKey, secret, $0) }
            }
        }
        self.publicKey = publicKey
    }

    /// The secret 32 bytes, for storing the key. Not wiped once it is out here.
    public var seed: Bytes32 {
        unsafe secret.withBytes { secret in
            unsafe Bytes32 { unsafe $0.update(from: secret, count: 32) }
        }
    }

    /// The signature over `message`; the same each time (RFC 8032 needs no randomness).
    public func sign(_ message: [UInt8]) -> Signature {
        unsafe secret.withBytes { secret in
            unsafe Signature { signature in
                _ = unsafe crypto_sign_ed25519_detached(signature, nil, message, UInt64(message.count), secret)
            }
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The public key; never the secret.
    public var description: String { "SigningKey(\(publicKey))" }

    /// The public key; never the secret.
    public var debugDescription: String { description }

    /// The public key; `dump` and debuggers go through here.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
