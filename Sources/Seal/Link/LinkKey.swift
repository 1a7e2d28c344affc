/// Keys of the peer protocol's secure channel.
public enum LinkKey {
    /// The pre-shared key of a workspace's links, from the network key of one epoch. Whoever does not have it cannot
    /// even begin a handshake.
    public static func psk(networkKey: Bytes32) -> Bytes32 {
        BLAKE2b.hash(Array("starling-psk-1".utf8), key: networkKey.bytes)
    }
}
