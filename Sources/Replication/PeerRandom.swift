internal import Seal

/// Numbers that nobody else can foresee and that a simulation can repeat: everything follows from a signature that is
/// never shown to anybody.
struct PeerRandom: RandomNumberGenerator, Sendable {
    private let secret: [UInt8]
    private var count: UInt64 = 0

    init(key: SigningKey, instance: UInt64) {
        let message = Array("starling-random-1".utf8) + PeerRandom.bytes(instance)
        secret = BLAKE2b.hash(key.sign(message).bytes).bytes
    }

    mutating func next() -> UInt64 { block().prefix64 }

    /// 32 bytes.
    mutating func block() -> Bytes32 {
        count &+= 1
        return BLAKE2b.hash(PeerRandom.bytes(count), key: secret)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
