internal import Glibc
public import Seal

/// The node's signing key on disk: one line, readable by its owner alone.
public enum IdentityFile {
    private static let heading = "starling-identity-1 "
    private static let sizeMax = 256

    /// Reads the key, or makes one where there is none yet.
    ///
    /// - Throws: `unsafe_file` if the file is another user's, a link, or readable by others; `file_system` otherwise.
    public static func loadOrCreate(_ path: String) throws(NodeError) -> (key: SigningKey, isNew: Bool) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor >= 0 {
            defer { close(descriptor) }
            return (try read(descriptor, path), false)
        }
        guard errno == ENOENT else {
            throw NodeError(.unsafeFile, "cannot open \(path): \(NodeHome.message(errno))")
        }
        let key = SigningKey()
        try create(path, key)
        return (key, true)
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(NodeError) -> SigningKey {
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
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        guard text.hasPrefix(heading), let line = text.dropFirst(heading.count).split(separator: "\n").first,
            let seed = Bytes32(hex: String(line))
        else { throw NodeError(.fileSystem, "\(path) is no identity file; put the right one back or move it away") }
        return SigningKey(seed: seed)
    }

    /// Written beside and renamed, so that a stop at any moment leaves either no file or a whole one.
    private static func create(_ path: String, _ key: SigningKey) throws(NodeError) {
        let temporary = path + ".new"
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw NodeError(.fileSystem, "cannot write \(temporary): \(NodeHome.message(errno))")
        }
        defer { close(descriptor) }
        let line = Array((heading + key.seed.hex + "\n").utf8)
        let written = unsafe line.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == line.count, fsync(descriptor) == 0, unsafe rename(temporary, path) == 0 else {
            throw NodeError(.fileSystem, "cannot write \(path): \(NodeHome.message(errno))")
        }
    }
}
