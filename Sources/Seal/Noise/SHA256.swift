internal import CSodium

/// SHA-256 and the two constructions on it that Noise uses (Noise rev 34 §4.3).
enum SHA256 {
    static func hash(_ bytes: [UInt8]) -> Bytes32 {
        unsafe Bytes32 { output in _ = unsafe crypto_hash_sha256(output, bytes, UInt64(bytes.count)) }
    }

    /// The hash of `first` and then `bytes`.
    static func hash(_ first: Bytes32, _ bytes: ArraySlice<UInt8>) -> Bytes32 {
        var state = crypto_hash_sha256_state()
        _ = unsafe crypto_hash_sha256_init(&state)
        unsafe first.withBytes { _ = unsafe crypto_hash_sha256_update(&state, $0, 32) }
        unsafe bytes.withUnsafeBufferPointer { buffer in
            _ = unsafe crypto_hash_sha256_update(&state, buffer.baseAddress, UInt64(buffer.count))
        }
        return unsafe Bytes32 { _ = unsafe crypto_hash_sha256_final(&state, $0) }
    }

    /// HMAC-SHA-256 (RFC 2104) of `bytes` and then, if given, one more byte.
    static func authenticate(_ bytes: Secret, and last: UInt8?, key: Secret) -> Secret {
        var state = crypto_auth_hmacsha256_state()
        unsafe key.withBytes { _ = unsafe crypto_auth_hmacsha256_init(&state, $0, key.count) }
        unsafe bytes.withBytes { _ = unsafe crypto_auth_hmacsha256_update(&state, $0, UInt64(bytes.count)) }
        if var last { _ = unsafe crypto_auth_hmacsha256_update(&state, &last, 1) }
        let code = unsafe Secret(count: 32) { _ = unsafe crypto_auth_hmacsha256_final(&state, $0) }
        unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        return code
    }

    /// Noise's HKDF: three outputs; who needs two ignores the third.
    static func derive(_ chainingKey: Secret, _ input: Secret) -> (Secret, Secret, Secret) {
        let extracted = authenticate(input, and: nil, key: chainingKey)
        let first = authenticate(.empty, and: 1, key: extracted)
        let second = authenticate(first, and: 2, key: extracted)
        let third = authenticate(second, and: 3, key: extracted)
        return (first, second, third)
    }
}
