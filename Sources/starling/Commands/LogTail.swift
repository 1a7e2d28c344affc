internal import ControlClient
internal import Glibc

/// The last lines of a file.
enum LogTail {
    /// Read from the end at most: enough for 100,000 lines of usual length, and no more memory than that.
    private static let sizeMax = 16 << 20

    static func lines(_ path: String, _ number: Int) throws -> [String] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ClientError.system(doing: "opening the log \(path)", errno: errno) }
        defer { close(descriptor) }
        let end = Int(lseek(descriptor, 0, SEEK_END))
        var size = 64 << 10
        while true {
            let start = max(0, end - size)
            let bytes = try read(descriptor, from: start, count: end - start, path)
            var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast(
                bytes.last == 0x0A ? 1 : 0)
            let isWhole = start == 0
            if !isWhole { lines = lines.dropFirst() }
            if lines.count >= number || isWhole || size >= sizeMax {
                return lines.suffix(number).map { String(decoding: $0, as: UTF8.self) }
            }
            size *= 4
        }
    }

    private static func read(_ descriptor: Int32, from start: Int, count: Int, _ path: String) throws -> ArraySlice<
        UInt8
    > {
        var bytes = [UInt8](repeating: 0, count: max(0, count))
        let size = bytes.count
        let got = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, size, start) }
        guard got >= 0 else { throw ClientError.system(doing: "reading the log \(path)", errno: errno) }
        return bytes[..<got]
    }
}
