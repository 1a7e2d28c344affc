internal import Glibc

/// The file that a listening Unix socket is reached by.
enum UnixSocketFile {
    /// Tells a file from another that took its path later.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// Binds the socket to `path` so that the file never has more rights than `mode`.
    static func bind(_ descriptor: Int32, path: String, mode: UInt32) throws(NetError) -> Identity {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // One less than the field: Linux takes an unterminated path, other programs do not.
        guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
            throw NetError(.badPath, operation: "bind")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        try removeStale(path)

        if let error = bindStrictly(descriptor, address) { throw error }
        if mode != 0o600, unsafe chmod(path, mode) != 0 {
            let error = NetError.current("chmod")
            unsafe unlink(path)
            throw error
        }
        guard let identity = status(path).map(identity) else { throw NetError.current("lstat") }
        return identity
    }

    /// Of two that bind at once, the one that is done first would give the other its mask back too early, and the last
    /// one would leave the process with the strict one.
    private static let strictMask = Lock<mode_t>(0o177)

    /// Binds with a mask that belongs to the whole process; it is the strictest, so a file made elsewhere meanwhile
    /// stays safe.
    private static func bindStrictly(_ descriptor: Int32, _ address: sockaddr_un) -> NetError? {
        strictMask.withLock { mask in
            var address = address
            let before = umask(mask)
            let result = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            let error = NetError.current("bind")
            umask(before)
            return result == 0 ? nil : error
        }
    }

    /// Removes the file unless another has taken its place.
    static func remove(_ path: String, if identity: Identity) {
        if let status = status(path), Self.identity(status) == identity { unsafe unlink(path) }
    }

    private static func removeStale(_ path: String) throws(NetError) {
        guard let status = status(path) else {
            if errno == ENOENT { return }
            throw NetError.current("lstat")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            throw NetError(.foreignFile, operation: "bind")
        }
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw NetError.current("unlink") }
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    private static func identity(_ status: stat) -> Identity {
        Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }
}
