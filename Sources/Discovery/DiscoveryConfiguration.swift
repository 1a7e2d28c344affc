/// What is announced and what is looked for.
public struct DiscoveryConfiguration: Sendable {
    /// The service type, `_starling._tcp`.
    public let serviceType: String
    /// The name to announce. Random, so that it is neither taken elsewhere nor tells who is there.
    public let instanceName: String
    /// The TCP port to announce.
    public let port: UInt16
    let txt: [UInt8]
    let skipInterfaces: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - serviceType: the type to announce and to look for.
    ///   - instanceName: the name to announce, 1 to 63 bytes; 16 random base32 characters are right.
    ///   - port: the TCP port to announce, not 0.
    ///   - txt: what to say about the service, opaque to this module, in this order; under 200 bytes altogether.
    ///   - skipInterfaces: true for the name of an interface on which nothing is to be looked for. Called on the
    ///     discovery thread. Announcing is on all interfaces: Avahi decides that.
    /// - Throws: ``DiscoveryError``.
    public init(
        serviceType: String = "_starling._tcp", instanceName: String, port: UInt16, txt: [(String, [UInt8])],
        skipInterfaces: @escaping @Sendable (String) -> Bool = { _ in false }
    ) throws(DiscoveryError) {
        guard (1...63).contains(instanceName.utf8.count), !instanceName.utf8.contains(0) else {
            throw DiscoveryError(.invalidInstanceName)
        }
        guard serviceType.hasPrefix("_"), serviceType.hasSuffix("._tcp"), !serviceType.utf8.contains(0) else {
            throw DiscoveryError(.invalidServiceType)
        }
        guard port != 0 else {
            throw DiscoveryError(.invalidPort)
        }
        self.serviceType = serviceType
        self.instanceName = instanceName
        self.port = port
        self.txt = try TXTRecord.encode(txt)
        self.skipInterfaces = skipInterfaces
    }
}
