/// What can go wrong inside the Noise core. Handshakes are over after any of them.
enum NoiseError: Error {
    /// A ciphertext or its associated data is not what the other side sealed.
    case authentication
    /// The peer's public key has small order: the shared secret would be known to everybody (RFC 7748 §6.1).
    case weakKey
    /// A message ends before the keys that its pattern promises.
    case truncated
    /// A message was written or read when the pattern has the other side's turn, or none.
    case outOfTurn
    /// The pattern needs a key that was not given.
    case missingKey
    /// 2^64 - 1 messages were sealed with one key.
    case nonceExhausted
}
