internal import Glibc

/// The log file of a daemon that runs in the background.
struct DaemonLog: ~Copyable {
    /// A log beyond this size is set aside as `….1` before a daemon starts, so that two of them are the most there is.
    static let sizeMax = 4 << 20

    let descriptor: Int32
    private let start: Int

    /// Opens it for appending and makes its directory, both readable by the user alone.
    init(path: String) throws(ClientError) {
        try Self.makeDirectories(of: path)
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_size > Self.sizeMax { unsafe rename(path, path + ".1") }
        let opened = unsafe open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw .system(doing: "opening the log \(path)", errno: errno) }
        descriptor = opened
        start = max(0, Int(lseek(descriptor, 0, SEEK_END)))
    }

    deinit {
        close(descriptor)
    }

    /// The last line that was added since it was opened.
    borrowing func lastLine() -> String? {
        let end = Int(lseek(descriptor, 0, SEEK_END))
        let size = min(end - start, 8 << 10)
        guard size > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: size)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, size, end - size) }
        guard count > 0 else { return nil }
        return bytes[..<count].split(separator: 0x0A).last.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func makeDirectories(of path: String) throws(ClientError) {
        var position = path.startIndex
        while let slash = path[position...].dropFirst().firstIndex(of: "/") {
            let directory = String(path[..<slash])
            if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST, errno != EISDIR, errno != EROFS, errno != EACCES {
                throw .system(doing: "making the directory \(directory)", errno: errno)
            }
            position = slash
        }
    }
}
