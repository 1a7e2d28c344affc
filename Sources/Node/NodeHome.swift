internal import Glibc

/// Where a node keeps its files, and the checks that nobody else can read or change them.
public struct NodeHome: Sendable {
    /// Keys, database and lock.
    public let dataDirectory: String
    /// The clients' socket.
    public let socketPath: String
    private let socketDirectory: String

    /// Bytes of a Unix socket's path (`sun_path` without its final zero, unix(7)).
    public static let socketPathMax = 107

    public var identityPath: String { dataDirectory + "/identity.key" }
    /// Where the key of an identity is kept that this node has given up.
    public func retiredIdentityPath(_ uid: String) -> String { dataDirectory + "/identity-\(uid).key" }
    public var databasePath: String { dataDirectory + "/workspace.db" }
    public var lockPath: String { dataDirectory + "/lock" }

    /// - Parameters:
    ///   - directory: everything goes below it; nil for the XDG folders.
    ///   - environment: looks up an environment variable.
    public init(directory: String?, environment: (String) -> String?) throws(NodeError) {
        if let directory, !directory.isEmpty {
            dataDirectory = NodeHome.absolute(directory)
            socketDirectory = dataDirectory
        } else {
            // What is no absolute path is to be ignored (XDG Base Directory Specification 0.8).
            func folder(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
            guard let home = folder("HOME") else {
                throw NodeError(.usage, "HOME is not set; say where to keep files with --home DIR")
            }
            dataDirectory = (folder("XDG_DATA_HOME") ?? home + "/.local/share") + "/starling"
            socketDirectory = folder("XDG_RUNTIME_DIR").map { $0 + "/starling" } ?? home + "/.local/state/starling"
        }
        socketPath = socketDirectory + "/starling.sock"
        guard socketPath.utf8.count <= NodeHome.socketPathMax else {
            throw NodeError(
                .usage,
                "the socket's path has \(socketPath.utf8.count) bytes, \(NodeHome.socketPathMax) are possible: "
                    + socketPath
            )
        }
    }

    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let here = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(here) }
        return unsafe String(cString: here) + "/" + path
    }

    /// Makes the directories that are missing and checks them: they must be this user's own and closed to others, and
    /// the database no link and nobody else's.
    public func prepare() throws(NodeError) {
        try NodeHome.prepareDirectory(dataDirectory)
        try NodeHome.prepareDirectory(socketDirectory)
        // SQLite would follow a link, and give others' files new modes and contents.
        for path in [databasePath, databasePath + "-wal"] { try NodeHome.checkFile(path) }
    }

    /// Throws for what is there and is no file of this user's own.
    private static func checkFile(_ path: String) throws(NodeError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw NodeError(.unsafeFile, "\(path) is not a file of this user, or a link")
        }
    }

    private static func prepareDirectory(_ path: String) throws(NodeError) {
        var made = ""
        for part in path.unicodeScalars.split(separator: "/") {
            made += "/" + String(part)
            if unsafe mkdir(made, 0o700) != 0, errno != EEXIST {
                throw NodeError(.fileSystem, "cannot make \(made): \(message(errno))")
            }
        }
        var status = stat()
        // Whoever owns a link says where it leads, also later.
        if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK,
            ![0, geteuid()].contains(status.st_uid)
        {
            throw NodeError(.unsafeFile, "\(path) is a symbolic link of another user")
        }
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw NodeError(.fileSystem, "cannot open \(path): \(message(errno))") }
        defer { close(descriptor) }
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw NodeError(.fileSystem, "cannot look at \(path): \(message(errno))")
        }
        guard status.st_uid == geteuid() else { throw NodeError(.unsafeFile, "\(path) belongs to another user") }
        if status.st_mode & 0o022 != 0 {
            throw NodeError(.unsafeFile, "others can write to \(path); close it with: chmod 700 '\(path)'")
        }
        // Readable by others is an oversight of mkdir's defaults, not an attack: close it.
        if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o700) != 0 {
            throw NodeError(.fileSystem, "cannot close \(path) to others: \(message(errno))")
        }
    }

    static func message(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }
}

extension NodeHome {
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    static func rename(_ path: String, to other: String) throws(NodeError) {
        guard unsafe Glibc.rename(path, other) == 0 else {
            throw NodeError(.fileSystem, "cannot rename \(path): \(message(errno))")
        }
    }
}
