internal import CSodium

/// ChaCha20-Poly1305 with a counting nonce (Noise rev 34 §5.1). Never seal with two copies of one state: they would use
/// one nonce for two texts, which gives both away.
struct CipherState: Sendable {
    /// Bytes that sealing adds.
    static let overhead = 16

    private var key: Secret?
    private(set) var nonce: UInt64 = 0

    /// Without a key, as a handshake begins: text passes unchanged.
    init() {}

    init(key: Secret) {
        self.key = key
    }

    /// A state that has already sealed `nonce` messages.
    init(key: Secret, nonce: UInt64) {
        self.key = key
        self.nonce = nonce
    }

    var hasKey: Bool { key != nil }

    /// Seals a text; unchanged where there is no key yet.
    mutating func seal(_ plaintext: [UInt8], associated: Bytes32? = nil) throws(NoiseError) -> [UInt8] {
        guard hasKey else { return plaintext }
        var text: [UInt8] = []
        text.reserveCapacity(plaintext.count + Self.overhead)
        text.append(contentsOf: plaintext)
        text.append(contentsOf: repeatElement(0, count: Self.overhead))
        try seal(&text, at: 0, count: plaintext.count, associated: associated)
        return text
    }

    /// Opens a text; unchanged where there is no key yet.
    mutating func open(_ ciphertext: ArraySlice<UInt8>, associated: Bytes32? = nil) throws(NoiseError) -> [UInt8] {
        var text = Array(ciphertext)
        guard hasKey else { return text }
        guard text.count >= Self.overhead else { throw .truncated }
        try open(&text, at: 0, count: text.count, associated: associated)
        text.removeLast(Self.overhead)
        return text
    }

    /// Seals `count` bytes of `text` from `offset` on in place; the 16 bytes after them become the tag.
    mutating func seal(
        _ text: inout [UInt8], at offset: Int, count: Int, associated: Bytes32? = nil
    ) throws(NoiseError) {
        precondition(offset >= 0 && count >= 0 && text.count - offset - Self.overhead >= count)
        guard let key else { throw .missingKey }
        guard nonce < .max else { throw .nonceExhausted }
        unsafe text.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            let place = unsafe start + offset
            unsafe Self.withNonce(nonce) { nonce in
                unsafe key.withBytes { key in
                    unsafe Self.withBytes(of: associated) { associated, associatedCount in
                        _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                            place, nil, place, UInt64(count), associated, associatedCount, nil, nonce, key)
                    }
                }
            }
        }
        nonce += 1
    }

    /// Opens `count` bytes of `text`, tag included, from `offset` on in place; the plaintext is 16 bytes shorter. Where
    /// this throws, the bytes are not usable and the nonce has not moved.
    mutating func open(
        _ text: inout [UInt8], at offset: Int, count: Int, associated: Bytes32? = nil
    ) throws(NoiseError) {
        precondition(offset >= 0 && count >= Self.overhead && text.count - offset >= count)
        guard let key else { throw .missingKey }
        guard nonce < .max else { throw .nonceExhausted }
        var status: Int32 = -1
        unsafe text.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            let place = unsafe start + offset
            unsafe Self.withNonce(nonce) { nonce in
                unsafe key.withBytes { key in
                    unsafe Self.withBytes(of: associated) { associated, associatedCount in
                        status = unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                            place, nil, nil, place, UInt64(count), associated, associatedCount, nonce, key)
                    }
                }
            }
        }
        guard status == 0 else { throw .authentication }
        nonce += 1
    }

    /// Noise's REKEY: the next key follows from this one and not the other way; the nonce goes on.
    mutating func rekey() {
        guard let old = key else { return }
        key = unsafe Secret(count: 32) { new in
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32 + Self.overhead) { output in
                guard let start = output.baseAddress else { preconditionFailure("an allocation without an address") }
                unsafe start.initialize(repeating: 0, count: 32 + Self.overhead)
                unsafe Self.withNonce(.max) { nonce in
                    unsafe old.withBytes { key in
                        _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                            start, nil, start, 32, nil, 0, nil, nonce, key)
                    }
                }
                unsafe new.update(from: start, count: 32)
                unsafe sodium_memzero(start, 32 + Self.overhead)
            }
        }
    }

    /// 32 zero bits, then the counter in little-endian order (Noise rev 34 §12.3).
    private static func withNonce(_ nonce: UInt64, _ body: (UnsafePointer<UInt8>) -> Void) {
        let low = UInt32(truncatingIfNeeded: nonce)
        let high = UInt32(truncatingIfNeeded: nonce >> 32)
        unsafe withUnsafePointer(to: (UInt32(0), low.littleEndian, high.littleEndian)) {
            unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 12) { unsafe body($0) }
        }
    }

    private static func withBytes(of associated: Bytes32?, _ body: (UnsafePointer<UInt8>?, UInt64) -> Void) {
        if let associated {
            unsafe associated.withBytes { unsafe body($0, 32) }
        } else {
            body(nil, 0)
        }
    }
}
