internal import CPosix
internal import Glibc

/// A lock file that decides which process is the daemon.
///
/// The lock is the kernel's (an open file description lock, fcntl(2)), so it goes with the process however that ends;
/// the file stays, because removing it would let two processes lock two files of one name. It holds the holder's pid as
/// text.
public enum FileLock {
    /// A lock that is held until this is released.
    public final class Held: Sendable {
        public let path: String
        private let descriptor: Descriptor

        fileprivate init(_ descriptor: consuming Descriptor, path: String) {
            self.descriptor = descriptor
            self.path = path
        }
    }

    /// Takes the lock without waiting; nil when another process, or another owner in this one, holds it. The file is
    /// made with mode 0600 when there is none; the caller vouches for the directory.
    ///
    /// Errors: `foreignFile` for a symbolic link, for what is no regular file and for a file of another user;
    /// `permissionDenied`; `other`.
    public static func tryLock(path: String) throws(NetError) -> Held? {
        let descriptor = try open(path, flags: O_RDWR | O_CREAT)
        switch starling_lock_exclusively(descriptor.number) {
        case 0: break
        case 1: return nil
        default: throw NetError.current("fcntl")
        }
        // For people and for holder(path:) only; the lock is good without it, for instance on a full disk.
        if ftruncate(descriptor.number, 0) == 0 {
            let text = Array("\(getpid())\n".utf8)
            _ = unsafe pwrite(descriptor.number, text, text.count, 0)
        }
        return Held(descriptor, path: path)
    }

    /// The pid of the process that holds the lock; nil when nobody does, or when it cannot be told. Takes no lock
    /// itself, so a starting daemon is never disturbed.
    public static func holder(path: String) -> Int32? {
        guard let descriptor = try? open(path, flags: O_RDONLY), starling_lock_is_held(descriptor.number) == 1 else {
            return nil
        }
        // A pid has at most 10 digits.
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = unsafe pread(descriptor.number, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        let digits = bytes.prefix(count).prefix { (0x30...0x39).contains($0) }
        guard let pid = Int32(String(decoding: digits, as: UTF8.self)), pid > 0 else { return nil }
        return pid
    }

    private static func open(_ path: String, flags: Int32) throws(NetError) -> Descriptor {
        guard !path.utf8.contains(0) else { throw NetError(.badPath, operation: "open") }
        // O_NONBLOCK: a FIFO at the path is reported below instead of waited for.
        let number = unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        let descriptor = try Descriptor(number, operation: "open")
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw NetError.current("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw NetError(.foreignFile, operation: "open")
        }
        return descriptor
    }
}
