/// Chaining key, transcript hash and current cipher of a handshake (Noise rev 34 §5.2).
struct SymmetricState: Sendable {
    private(set) var hash: Bytes32
    private var chainingKey: Secret
    private var cipher = CipherState()

    init(protocolName: String) {
        Sodium.start()
        let name = Array(protocolName.utf8)
        let padded = Bytes32(name + repeatElement(0, count: max(0, 32 - name.count)))
        hash = padded ?? SHA256.hash(name)
        chainingKey = Secret(hash)
    }

    mutating func mixHash(_ bytes: ArraySlice<UInt8>) {
        hash = SHA256.hash(hash, bytes)
    }

    mutating func mixKey(_ input: Secret) {
        let (chaining, key, _) = SHA256.derive(chainingKey, input)
        chainingKey = chaining
        cipher = CipherState(key: key)
    }

    mutating func mixKeyAndHash(_ input: Secret) {
        let (chaining, extra, key) = SHA256.derive(chainingKey, input)
        chainingKey = chaining
        unsafe extra.withBytes { mixHash(unsafe ArraySlice(UnsafeBufferPointer(start: $0, count: extra.count))) }
        cipher = CipherState(key: key)
    }

    /// Bytes that `encryptAndHash` adds now.
    var overhead: Int { cipher.hasKey ? CipherState.overhead : 0 }

    mutating func encryptAndHash(_ plaintext: [UInt8]) throws(NoiseError) -> [UInt8] {
        let ciphertext = try cipher.seal(plaintext, associated: hash)
        mixHash(ciphertext[...])
        return ciphertext
    }

    mutating func decryptAndHash(_ ciphertext: ArraySlice<UInt8>) throws(NoiseError) -> [UInt8] {
        let plaintext = try cipher.open(ciphertext, associated: hash)
        mixHash(ciphertext)
        return plaintext
    }

    /// The keys of the two directions, the initiator's sending key first.
    func split() -> (Secret, Secret) {
        let (first, second, _) = SHA256.derive(chainingKey, .empty)
        return (first, second)
    }
}
