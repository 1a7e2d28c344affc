/// Sizes of the peer protocol's secure channel, all in bytes.
public enum LinkLimits {
    /// The longest message that a link carries: 4 MiB.
    public static let messageSizeMax = 4 * 1024 * 1024
    /// The longest payload that a caller may put into the handshake.
    public static let payloadSizeMax = 400
    /// Message data in a full frame: 65,535 less the tag and the continuation byte.
    public static let frameDataSizeMax = frameSizeMax - CipherState.overhead - 1

    /// The greatest length that a frame's prefix can say.
    static let frameSizeMax = 65_535
    /// Continuation byte and tag: a frame without data.
    static let frameSizeMin = CipherState.overhead + 1
    /// Identity and signature, which Seal puts before the caller's payload.
    static let claimSize = 32 + 64
    /// What the protocol allows a handshake payload to be, claim included.
    static let sealedPayloadSizeMax = 512
    /// Frames under one key.
    static let framesPerKey: UInt64 = 65_536

    /// Ephemeral key and tag, exactly.
    static let message1Size = 48
    /// Ephemeral key, sealed static key, sealed claim and payload.
    static let message2Sizes = (32 + 48 + claimSize + 16)...(32 + 48 + sealedPayloadSizeMax + 16)
    /// Sealed static key, sealed claim and payload.
    static let message3Sizes = (48 + claimSize + 16)...(48 + sealedPayloadSizeMax + 16)
}
