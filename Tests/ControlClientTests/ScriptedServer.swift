import ControlAPI
import Foundation
import Glibc

/// A Unix socket that serves one connection by a script: what a daemon says, also when it talks nonsense.
final class ScriptedServer: Sendable {
    enum Step: Sendable {
        case send(String)
        /// The text so many times over.
        case flood(String, Int)
        /// Waits for a whole line.
        case receiveLine
        /// Waits until the client has closed.
        case receiveEnd
    }

    static let hello =
        #"{"jsonrpc":"2.0","method":"hello","params":{"version":"0.1","api":1,"workspace":"lan","uid":"u"}}"# + "\n"

    let directory: TemporaryDirectory
    private let listener: Int32
    private let finished = DispatchSemaphore(value: 0)
    private let box = LinesBox()

    var path: String { directory.path + "/s" }

    init(_ steps: [Step]) throws {
        directory = try TemporaryDirectory()
        listener = try Self.listen(directory.path + "/s")
        let (listener, box, finished) = (listener, box, finished)
        let thread = Thread {
            let connection = accept(listener, nil, nil)
            Self.run(steps, connection, box)
            close(connection)
            finished.signal()
        }
        thread.start()
    }

    deinit {
        close(listener)
    }

    /// The lines the client sent, once the script has ended.
    func lines() -> [String] {
        finished.wait()
        return box.lines
    }

    private static func listen(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0, Glibc.listen(descriptor, 4) == 0 else { throw POSIXError(.EADDRINUSE) }
        return descriptor
    }

    private static func run(_ steps: [Step], _ connection: Int32, _ box: LinesBox) {
        var pending: [UInt8] = []
        for step in steps {
            switch step {
            case .send(let text): write(connection, text)
            case .flood(let text, let times): for _ in 0..<times { write(connection, text) }
            case .receiveLine:
                while !pending.contains(0x0A), read(connection, &pending) {}
                guard let end = pending.firstIndex(of: 0x0A) else { continue }
                box.append(String(decoding: pending[..<end], as: UTF8.self))
                pending.removeSubrange(...end)
            case .receiveEnd:
                while read(connection, &pending) { pending = [] }
            }
        }
    }

    private static func write(_ connection: Int32, _ text: String) {
        var rest = ArraySlice(Array(text.utf8))
        while !rest.isEmpty {
            let size = rest.count
            let sent = unsafe rest.withUnsafeBytes {
                unsafe send(connection, $0.baseAddress, size, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    private static func read(_ connection: Int32, _ pending: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(connection, $0.baseAddress, 65_536) }
        guard count > 0 else { return false }
        pending += chunk[..<count]
        return true
    }
}

/// The lines, written by the server's thread.
private final class LinesBox: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: [String] = []

    var lines: [String] { lock.withLock { stored } }

    func append(_ line: String) {
        lock.withLock { stored.append(line) }
    }
}

/// A directory that is gone when the test has ended. In /tmp, because a socket's path must be short.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/starling-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw POSIXError(.EACCES) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file there; returns its path.
    func file(_ name: String, _ text: String) throws -> String {
        let file = path + "/" + name
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }
}
