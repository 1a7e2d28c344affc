internal import Glibc

/// A small file that only its owner may read: a key.
enum SecretFile {
    /// Reads the file; nil if there is none.
    ///
    /// - Throws: `unsafe_file` if it is another user's, a link, or readable by others; `file_system` otherwise.
    static func read(_ path: String, sizeMax: Int) throws(NodeError) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            guard errno == ENOENT else {
                throw NodeError(.unsafeFile, "cannot open \(path): \(NodeHome.message(errno))")
            }
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw NodeError(.fileSystem, "cannot look at \(path): \(NodeHome.message(errno))")
        }
        guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG else {
            throw NodeError(.unsafeFile, "\(path) is not a file of this user")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw NodeError(.unsafeFile, "others can read \(path), which is secret; close it with: chmod 600 '\(path)'")
        }
        var bytes = [UInt8](repeating: 0, count: sizeMax)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// Written beside and renamed, so that a stop at any moment leaves what was there before or the whole new file.
    static func write(_ text: String, to path: String) throws(NodeError) {
        let temporary = path + ".new"
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("write \(temporary)") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        // A short count sets no error: there was room for a part.
        if written >= 0, written < bytes.count { errno = ENOSPC }
        guard written == bytes.count, fsync(descriptor) == 0, unsafe rename(temporary, path) == 0 else {
            let failure = failure("write \(path)")
            unsafe unlink(temporary)
            throw failure
        }
        syncFolder(of: path)
    }

    /// Makes a new name last: else it might be lost with the power, and with an old name the new key.
    static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private static func failure(_ what: String) -> NodeError {
        let isFull = errno == ENOSPC || errno == EDQUOT
        return NodeError(isFull ? .diskFull : .fileSystem, "cannot \(what): \(NodeHome.message(errno))")
    }
}
