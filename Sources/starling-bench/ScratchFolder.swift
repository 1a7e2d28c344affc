internal import Glibc

/// A folder of this run's own; everything measured keeps its files below it.
struct ScratchFolder {
    let path: String

    init() throws(BenchError) {
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        try self.init(template: "\(parent)/starling-bench-XXXXXX", parent)
    }

    /// A folder of one run of one suite.
    init(in top: ScratchFolder) throws(BenchError) { try self.init(template: "\(top.path)/XXXXXX", top.path) }

    private init(template: String, _ parent: String) throws(BenchError) {
        // Short: a Unix socket's path below it must fit into 107 bytes.
        var template = Array(template.utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .current("making a folder in \(parent)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Removes it with all it contains.
    func remove() { Self.remove(path) }

    /// Removes a folder and all below it; links are not followed.
    static func remove(_ path: String) {
        if let folder = unsafe opendir(path) {
            var names: [String] = []
            while let entry = unsafe readdir(folder) {
                unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                    let name = unsafe UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self)
                    names.append(unsafe String(cString: name))
                }
            }
            unsafe closedir(folder)
            for name in names where name != "." && name != ".." { removeEntry(path + "/" + name) }
        }
        unsafe rmdir(path)
    }

    private static func removeEntry(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR { remove(path) } else { unsafe unlink(path) }
    }
}
