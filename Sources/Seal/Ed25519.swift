internal import CSodium

/// Ed25519 signatures (RFC 8032) over messages of any length.
public enum Ed25519 {
    /// Whether `signature` over `message` was made by the owner of `key`.
    ///
    /// Strict, as libsodium is: a small-order or non-canonical public key, a small-order R and an S out of range are
    /// refused, so nobody can turn one valid signature into another.
    public static func verify(_ signature: Signature, _ message: [UInt8], by key: Bytes32) -> Bool {
        Sodium.start()
        return unsafe signature.withBytes { signature in
            unsafe key.withBytes { key in
                unsafe crypto_sign_ed25519_verify_detached(signature, message, UInt64(message.count), key) == 0
            }
        }
    }
}
