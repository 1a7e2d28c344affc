internal import CSodium

/// The operating system's cryptographic random source, through libsodium (`randombytes_buf`, that is getrandom(2)).
public enum SecureRandom {
    /// `count` fresh bytes, 0 or more.
    public static func bytes(_ count: Int) -> [UInt8] {
        Sodium.start()
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe randombytes_buf(&bytes, count)
        return bytes
    }

    /// 32 fresh bytes: a key, an identifier.
    public static func bytes32() -> Bytes32 {
        Sodium.start()
        return unsafe Bytes32 { unsafe randombytes_buf($0, 32) }
    }

    /// A uniformly distributed number.
    public static func uint64() -> UInt64 {
        Sodium.start()
        var value: UInt64 = 0
        unsafe randombytes_buf(&value, MemoryLayout<UInt64>.size)
        return value
    }
}
