import Glibc

/// A file system of a few pages in memory, where the test may mount one.
struct SmallDisk {
    private let path: String

    /// Whether this process may mount; tried once.
    static let isAvailable: Bool = {
        guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
        guard let disk = try? SmallDisk(at: folder.path("probe"), bytes: 1 << 16) else { return false }
        disk.unmount()
        return true
    }()

    struct NotMounted: Error {}

    init(at path: String, bytes: Int) throws {
        self.path = path
        guard unsafe mkdir(path, 0o700) == 0 else { throw NotMounted() }
        let options = "size=\(bytes)"
        let result = unsafe options.withCString { unsafe mount("tmpfs", path, "tmpfs", 0, $0) }
        guard result == 0 else { throw NotMounted() }
    }

    func unmount() { _ = unsafe umount2(path, Int32(MNT_DETACH)) }
}
