internal import Glibc

/// What is known of a file or folder without opening it.
struct FileFacts: Equatable {
    enum Kind: Equatable {
        case file, folder, socket, link, other
        /// In a folder's place a link of another user, who could lead it elsewhere at any time.
        case foreignLink
        /// In a folder's place a link to nothing.
        case brokenLink
    }

    var path: String
    var kind: Kind
    /// Permission bits.
    var mode: UInt32
    var owner: UInt32

    /// Nil where there is nothing.
    init?(_ path: String) { self.init(path, followsLink: false) }

    private init?(_ path: String, followsLink: Bool) {
        var status = stat()
        guard unsafe (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            case S_IFSOCK: .socket
            case S_IFLNK: .link
            default: .other
            }
        self.init(path: path, kind: kind, mode: UInt32(status.st_mode) & 0o7777, owner: status.st_uid)
    }

    /// A folder as the daemon takes it (`NodeHome`): through a link of the user's own or of root's, as to a larger
    /// disk. Nil where there is nothing.
    static func folder(_ path: String, user: UInt32) -> FileFacts? {
        guard var facts = FileFacts(path), facts.kind == .link else { return FileFacts(path) }
        facts.kind = [0, user].contains(facts.owner) ? .brokenLink : .foreignLink
        return facts.kind == .foreignLink ? facts : FileFacts(path, followsLink: true) ?? facts
    }

    init(path: String, kind: Kind, mode: UInt32, owner: UInt32) {
        self.path = path
        self.kind = kind
        self.mode = mode
        self.owner = owner
    }
}

/// Room on the file system of a folder (statvfs(3)).
struct DiskFacts: Equatable {
    var freeBytes: Int64
    var totalBytes: Int64

    init(freeBytes: Int64, totalBytes: Int64) {
        self.freeBytes = freeBytes
        self.totalBytes = totalBytes
    }

    /// Nil where there is no such folder.
    init?(_ path: String) {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        let size = Int64(clamping: status.f_frsize)
        self.init(
            freeBytes: Int64(clamping: status.f_bavail).multipliedReportingOverflow(by: size).partialValue,
            totalBytes: Int64(clamping: status.f_blocks).multipliedReportingOverflow(by: size).partialValue)
    }
}

enum SmallFile {
    /// Up to so many bytes of a file's beginning; nil if it cannot be read.
    static func bytes(_ path: String, max count: Int) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var (bytes, taken) = ([UInt8](repeating: 0, count: count), 0)
        while taken < count {
            let size = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(descriptor, buffer.baseAddress.map { unsafe $0 + taken }, count - taken)
            }
            guard size > 0 else { return size < 0 && taken == 0 ? nil : Array(bytes.prefix(taken)) }
            taken += size
        }
        return bytes
    }

    static func text(_ path: String) -> String {
        String(decoding: bytes(path, max: 1 << 20) ?? [], as: UTF8.self)
    }

    /// Names in a folder; none if it cannot be read.
    static func names(in folder: String) -> [String] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
