import Foundation
import Glibc

@testable import Net

/// Runs `body` with a loop on a thread of its own, which is stopped afterwards.
func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "test")
    do {
        try await body(loop)
    } catch {
        loop.stop()
        throw error
    }
    loop.stop()
}

extension EventLoop {
    /// Runs `body` on the loop and returns its result.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            execute { continuation.resume(with: Result { try body() }) }
        }
    }
}

/// Something that happens once and can be waited for, before or after.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiting: [CheckedContinuation<Value, Never>] = []
    }

    private let state = Lock(State())

    /// Later calls change nothing.
    func fulfil(_ value: Value) {
        let waiting = state.withLock { state in
            guard state.value == nil else { return [CheckedContinuation<Value, Never>]() }
            state.value = value
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state in
                    if state.value == nil { state.waiting.append(continuation) }
                    return state.value
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}

/// Values that arrive one after the other, from any thread.
final class Recorder<Value: Sendable>: Sendable {
    private let values = Lock<[Value]>([])

    func append(_ value: Value) {
        values.withLock { $0.append(value) }
    }

    var all: [Value] {
        values.withLock { $0 }
    }
}

/// Everything a socket has reported.
final class Witness: Sendable {
    let bytes = Lock<[UInt8]>([])
    let closes = Recorder<CloseReason>()
    let closed = Promise<CloseReason>()
    let ended = Promise<Bool>()
    let drained = Promise<Bool>()
    /// Fulfilled when as many bytes as announced have arrived.
    let received = Promise<Bool>()

    /// Attaches to a socket, on its loop; `expecting` bytes fulfil `received`.
    func attach(to socket: StreamSocket, expecting: Int = 1, keepsOpenAtEnd: Bool = false) {
        socket.onReceive = { [self] bytes in
            let count = self.bytes.withLock { all in
                all += bytes
                return all.count
            }
            if count >= expecting { received.fulfil(true) }
        }
        if keepsOpenAtEnd { socket.onEnd = { [self] in ended.fulfil(true) } }
        socket.onDrained = { [self] in drained.fulfil(true) }
        socket.onClose = { [self] reason in
            closes.append(reason)
            closed.fulfil(reason)
        }
    }

    var text: String {
        bytes.withLock { String(decoding: $0, as: UTF8.self) }
    }
}

/// A blocking stream socket, the other end of what is tested.
final class RawSocket: Sendable {
    let descriptor: Int32
    private let isOpen = Lock(true)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // A test that goes wrong shall fail, not hang.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close()
    }

    func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { Glibc.close(descriptor) }
    }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Int {
        unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    @discardableResult
    func write(_ text: String) -> Int {
        write(Array(text.utf8))
    }

    /// Up to `count` bytes; empty at the end of the stream, nil on an error.
    func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe recv(descriptor, &bytes, count, 0)
        return result < 0 ? nil : Array(bytes.prefix(result))
    }

    func readToEnd() -> [UInt8]? {
        var all: [UInt8] = []
        while true {
            guard let bytes = read(65536) else { return nil }
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    /// A TCP connection to `address`; nil when it is refused.
    static func connected(to address: SocketAddress) -> RawSocket? {
        let raw = RawSocket(socket(address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue), 0))
        let result = unsafe address.withSockaddr { unsafe connect(raw.descriptor, $0, $1) }
        return result == 0 ? raw : nil
    }

    static func connected(toPath path: String) -> RawSocket? {
        let raw = RawSocket(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(raw.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 ? raw : nil
    }
}

/// A Unix stream pair: one end on the loop with a witness, the other blocking.
func makePair(
    on loop: EventLoop, expecting: Int = 1, keepsOpenAtEnd: Bool = false
) async throws -> (StreamSocket, Witness, RawSocket) {
    var ends: [Int32] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw NetError.current("pair") }
    let raw = RawSocket(ends[1])
    let ours = ends[0]
    let witness = Witness()
    let socket = try await loop.run {
        let socket = try StreamSocket(adopting: ours, on: loop)
        witness.attach(to: socket, expecting: expecting, keepsOpenAtEnd: keepsOpenAtEnd)
        return socket
    }
    return (socket, witness, raw)
}

/// A directory of its own, removed with what is in it.
func withDirectory(_ body: (String) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("starling-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory.path)
}

/// Whether both are equal. Much faster than `==`, which compares unspecialised in debug builds.
func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard one.count == other.count else { return false }
    return unsafe memcmp(one, other, one.count) == 0
}

/// A generator whose runs can be repeated from the printed seed (SplitMix64, Steele, Lea and Flood 2014).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
