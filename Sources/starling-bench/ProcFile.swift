internal import Glibc

/// Files of the kernel, below /proc (proc(5)).
enum ProcFile {
    /// Longer than any that is read here.
    private static let sizeMax = 64 << 10

    static func text(_ path: String) throws(BenchError) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .current("opening \(path)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: sizeMax)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { throw .current("reading \(path)") }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    static func write(_ text: String, _ path: String) throws(BenchError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .current("opening \(path)") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw .current("writing \(path)") }
    }

    /// Makes a file, or makes it anew.
    static func make(_ bytes: [UInt8], _ path: String, mode: mode_t = 0o600) throws(BenchError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw .current("making \(path)") }
        defer { close(descriptor) }
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw .current("writing \(path)") }
    }

    /// What is in a folder.
    static func names(_ path: String) throws(BenchError) -> [String] {
        guard let folder = unsafe opendir(path) else { throw .current("opening \(path)") }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    /// A file's size in bytes; 0 where there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// A line like `VmRSS:   12345 kB`. "kB" means 1,024 bytes there; megabytes are 2^20.
    static func megabytes(_ name: String, _ path: String) throws(BenchError) -> Double {
        for line in try text(path).split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" }
            if words.first == "\(name):", words.count > 1, let kib = Double(words[1]) { return kib / 1024 }
        }
        throw .unexpected("\(path) does not tell \(name)")
    }
}
