import Foundation
import Lab
import Seal
import Synchronization
import Wire

/// A node of the open workspace that speaks another range of protocol versions, on a host of a lab. It knows the real
/// handshake and nothing else.
final class OtherVersion: Sendable {
    private let folder: String
    private let payload: [UInt8]
    private let key = SigningKey()
    private let bridges = Mutex<[LabProcess]>([])
    private let listener: Int32

    private var inPath: String { folder + "/in" }
    private var outPath: String { folder + "/out" }

    /// - Parameters:
    ///   - host: where it is; the test's own process is on none.
    ///   - target: the port that it can dial, as `ADDRESS:PORT`.
    ///   - isListening: whether it can be dialled, at port 47474.
    init(_ versions: ClosedRange<Int>, on host: LabHost, target: String, isListening: Bool) throws {
        payload =
            LinkPayload(
                versionMin: versions.lowerBound, versionMax: versions.upperBound, instance: SecureRandom.uint64(),
                port: 47474
            ).encoded
        var template = Array("/tmp/starling-XXXXXX".utf8CString)
        guard let made = unsafe mkdtemp(&template) else { throw LabError("mkdtemp: error \(errno)") }
        folder = unsafe String(cString: made)
        listener = try Self.listen(folder + "/in")
        // Programs on the host carry bytes between its network and sockets that this process reaches.
        let out = try host.spawn(["socat", "UNIX-LISTEN:\(outPath),fork", "TCP:\(target)"])
        bridges.withLock { $0.append(out) }
        guard isListening else { return }
        let back = try host.spawn(["socat", "TCP-LISTEN:47474,reuseaddr,fork", "UNIX-CONNECT:\(inPath)"])
        bridges.withLock { $0.append(back) }
        let (listener, key, payload) = (listener, key, payload)
        Thread.detachNewThread {
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                try? Self.answer(RawConnection(adopting: descriptor), key, payload)
            }
        }
    }

    deinit {
        // Ends the thread that accepts.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        for bridge in bridges.withLock({ $0 }) { bridge.terminate() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func listen(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard descriptor >= 0, status == 0, Glibc.listen(descriptor, 8) == 0 else {
            throw LabError("cannot listen at \(path): error \(errno)")
        }
        return descriptor
    }

    /// The other side of a connection that a node has opened, until the node ends it.
    private static func answer(_ connection: RawConnection, _ key: SigningKey, _ payload: [UInt8]) throws {
        var responder = LinkResponder(
            psks: [LinkKey.psk(networkKey: Intruder.networkKey)], workspace: Intruder.workspace, identity: key,
            payload: payload)
        while let bytes = connection.receive(within: .seconds(5)), !bytes.isEmpty {
            switch try responder.receive(bytes) {
            case .needMore: continue
            case .write(let bytes): connection.send(bytes)
            case .established:
                _ = connection.lastWords()
                return
            }
        }
    }

    /// Dials the target, shakes hands and waits until it ends the connection.
    func dial() async throws {
        try await eventually("the other version can dial", within: .seconds(60)) {
            FileManager.default.fileExists(atPath: outPath)
        }
        let connection = try RawConnection(path: outPath)
        var initiator = LinkInitiator(
            psk: LinkKey.psk(networkKey: Intruder.networkKey), workspace: Intruder.workspace, identity: key,
            payload: payload)
        connection.send(try initiator.start())
        while true {
            guard let bytes = connection.receive(within: .seconds(30)), !bytes.isEmpty else {
                throw LabError("the handshake was refused")
            }
            switch try initiator.receive(bytes) {
            case .needMore: continue
            case .write(let bytes): connection.send(bytes)
            case .established(let bytes, _):
                connection.send(bytes)
                guard connection.lastWords(within: .seconds(60)) != nil else {
                    throw LabError("a node of another version is kept")
                }
                return
            }
        }
    }
}
