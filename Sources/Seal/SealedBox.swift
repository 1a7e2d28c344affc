internal import CSodium

/// A key for the owner of one identity alone: anybody can seal it, and not even the sealer can open it again.
///
/// X25519 of the converted Ed25519 key with a key made for this box, then XSalsa20-Poly1305 (libsodium's
/// `crypto_box_seal`). Says nothing about who sealed it: sign what the box stands in.
public enum SealedBox {
    /// Bytes of a box with a key of 32 bytes in it.
    public static let size = 32 + 48

    /// Seals `secret` for the owner of an Ed25519 key. Nil where that key is no point a shared secret can be made with.
    public static func seal(_ secret: Bytes32, for owner: Bytes32) -> [UInt8]? {
        guard let recipient = converted(owner) else { return nil }
        var box = [UInt8](repeating: 0, count: size)
        let status = unsafe secret.withBytes { secret in
            unsafe recipient.withBytes { unsafe crypto_box_seal(&box, secret, 32, $0) }
        }
        return status == 0 ? box : nil
    }

    /// What is in a box for the owner of this key. Nil for another's box, and for one that was changed.
    public static func open(_ box: [UInt8], by owner: SigningKey) -> Bytes32? {
        guard box.count == size, let recipient = converted(owner.publicKey) else { return nil }
        let scalar = unsafe Secret(count: 32) { output in
            unsafe owner.secret.withBytes { _ = unsafe crypto_sign_ed25519_sk_to_curve25519(output, $0) }
        }
        var status: Int32 = -1
        let secret = unsafe Bytes32 { output in
            unsafe scalar.withBytes { scalar in
                unsafe recipient.withBytes { recipient in
                    status = unsafe crypto_box_seal_open(output, box, UInt64(box.count), recipient, scalar)
                }
            }
        }
        return status == 0 ? secret : nil
    }

    /// The X25519 key of an Ed25519 key.
    private static func converted(_ key: Bytes32) -> Bytes32? {
        Sodium.start()
        var status: Int32 = -1
        let converted = unsafe Bytes32 { output in
            unsafe key.withBytes { status = unsafe crypto_sign_ed25519_pk_to_curve25519(output, $0) }
        }
        return status == 0 ? converted : nil
    }
}
