import Foundation
import Glibc
import Synchronization

/// A terminal that a test types into and reads from (pty(7)).
final class PseudoTerminal: Sendable {
    /// TIOCSPTLCK and TIOCGPTN, which are macros.
    private static let lock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    private let master: Int32
    let program: FileHandle
    private let seen = Mutex<[UInt8]>([])

    init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
        master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // posix_openpt(3) and its kin are not visible from Swift; these are what they call (pty(7), ioctl_tty(2)).
        var (locked, number): (Int32, Int32) = (0, 0)
        guard unsafe ioctl(master, Self.lock, &locked) == 0, unsafe ioctl(master, Self.number, &number) == 0 else {
            throw POSIXError(.ENXIO)
        }
        let slave = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw POSIXError(.ENXIO) }
        program = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = unsafe ioctl(slave, UInt(TIOCSWINSZ), &size)
    }

    deinit {
        close(master)
    }

    /// Whether keys are echoed and lines edited, as a shell has it.
    var isCooked: Bool {
        var mode = termios()
        _ = unsafe tcgetattr(program.fileDescriptor, &mode)
        return mode.c_lflag & tcflag_t(ECHO | ICANON | ISIG) == tcflag_t(ECHO | ICANON | ISIG)
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(master, $0.baseAddress, bytes.count) }
    }

    /// Reads until the text has been shown; false if it is not within ten seconds. What was seen is forgotten.
    func shows(_ text: String) async -> Bool {
        await seen(upTo: text) != nil
    }

    /// The same, with all that was shown up to the text and with it; nil if it is not shown.
    func seen(upTo text: String) async -> String? {
        await withCheckedContinuation { continuation in
            // Not on the cooperative pool: this blocks.
            Thread.detachNewThread { continuation.resume(returning: self.waitsFor(Array(text.utf8))) }
        }
    }

    private func waitsFor(_ wanted: [UInt8]) -> String? {
        for _ in 0..<1_000 {
            let found: String? = seen.withLock { seen in
                guard let range = seen.firstRange(of: wanted) else { return nil }
                let text = String(decoding: seen[..<range.upperBound], as: UTF8.self)
                seen.removeSubrange(..<range.upperBound)
                return text
            }
            if let found { return found }
            var entry = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, 10_000) > 0 else { return nil }
            var chunk = [UInt8](repeating: 0, count: 4_096)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(master, $0.baseAddress, 4_096) }
            guard count > 0 else { return nil }
            seen.withLock { $0 += chunk[..<count] }
        }
        return nil
    }
}
