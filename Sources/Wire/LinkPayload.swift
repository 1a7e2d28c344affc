internal import CBOR

/// What both sides claim inside the handshake, beside their identity.
public struct LinkPayload: Sendable, Equatable {
    /// The protocol version of this program.
    public static let version = 1

    public let versionMin: Int
    public let versionMax: Int
    /// Drawn at each start: tells a restarted program, and two programs with one identity.
    public let instance: UInt64
    /// The port on which the sender accepts links; 0 if on none.
    public let port: UInt16

    public init(
        versionMin: Int = LinkPayload.version, versionMax: Int = LinkPayload.version, instance: UInt64, port: UInt16
    ) {
        self.versionMin = versionMin
        self.versionMax = versionMax
        self.instance = instance
        self.port = port
    }

    public var encoded: [UInt8] {
        var writer = CBORWriter()
        writer.array(4)
        writer.unsigned(UInt64(clamping: versionMin))
        writer.unsigned(UInt64(clamping: versionMax))
        writer.unsigned(instance)
        writer.unsigned(UInt64(port))
        return writer.bytes
    }

    /// Nil for bytes that are no payload; further fields of later versions are ignored.
    public init?(decoding bytes: [UInt8]) {
        var reader = CBORReader(bytes)
        guard let fields = try? reader.array(), fields >= 4, let versionMin = try? reader.count(max: 1 << 20),
            let versionMax = try? reader.count(max: 1 << 20), let instance = try? reader.unsigned(),
            let port = try? reader.count(max: Int(UInt16.max))
        else { return nil }
        self.init(
            versionMin: versionMin, versionMax: versionMax, instance: instance, port: UInt16(truncatingIfNeeded: port))
    }

    /// Whether both sides share a version.
    public func isCompatible(with other: LinkPayload) -> Bool {
        versionMin <= other.versionMax && other.versionMin <= versionMax
    }
}
