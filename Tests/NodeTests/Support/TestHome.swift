import Foundation
import Glibc
import Node

/// A home directory that is gone when the test is.
final class TestHome: Sendable {
    let path: String

    init() throws {
        path = "/tmp/starling-node-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        _ = unsafe chmod(path, 0o700)
        try? FileManager.default.removeItem(atPath: path)
    }

    var socketPath: String { path + "/starling.sock" }

    func file(_ name: String) -> String { path + "/" + name }

    /// The names of the files in it, in order.
    var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    var options: NodeOptions {
        get throws {
            var options = NodeOptions(home: try NodeHome(directory: path) { _ in nil })
            options.usesDiscovery = false
            return options
        }
    }
}

/// What a test waited for did not happen.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A moment by which something has to have happened. Generous: a test that waits so long has failed.
struct Deadline {
    let atNs: UInt64

    init(afterMs: UInt64) { atNs = Deadline.nowNs &+ afterMs * 1_000_000 }

    static var nowNs: UInt64 { clock_gettime_nsec(CLOCK_MONOTONIC) }

    private static func clock_gettime_nsec(_ clock: clockid_t) -> UInt64 {
        var now = timespec()
        unsafe clock_gettime(clock, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }

    var leftMs: Int32 {
        let now = Deadline.nowNs
        return now >= atNs ? 0 : Int32(clamping: (atNs - now) / 1_000_000 + 1)
    }

    /// Waits until a descriptor is ready.
    func wait(for events: Int32, on descriptor: Int32, _ what: String) throws {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        guard leftMs > 0, unsafe poll(&entry, 1, leftMs) > 0 else { throw TestFailure("timed out: \(what)") }
    }
}
