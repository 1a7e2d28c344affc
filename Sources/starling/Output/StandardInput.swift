internal import CommandLineKit
internal import ControlClient
internal import Glibc

/// What is piped into a command.
enum StandardInput {
    static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// All of it as text, without one newline at its end.
    static func text(sizeMax: Int) throws -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let size = chunk.count
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(STDIN_FILENO, $0.baseAddress, size) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ClientError.system(doing: "reading standard input", errno: errno) }
            guard count > 0 else { break }
            bytes += chunk[..<count]
            guard bytes.count <= sizeMax else {
                throw InputError(words: "standard input has more than \(sizeMax) bytes")
            }
        }
        if bytes.last == 0x0A { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw InputError(words: "standard input is not UTF-8")
        }
        return text
    }
}

/// Why standard input could not be used.
struct InputError: Error, CustomStringConvertible {
    var words: String

    var description: String { words }
}
