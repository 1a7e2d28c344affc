internal import Glibc

/// Finds `starlingd`.
public enum DaemonProgram {
    /// The program beside this one, else the first in `PATH`; nil if there is none that can be executed.
    public static func find() -> String? {
        if let own = ownDirectory(), let path = executable(own + "/starlingd") { return path }
        guard let path = unsafe getenv("PATH") else { return nil }
        for directory in unsafe String(cString: path).split(separator: ":") {
            if let path = executable(directory + "/starlingd") { return path }
        }
        return nil
    }

    private static func executable(_ path: String) -> String? {
        unsafe access(path, X_OK) == 0 ? path : nil
    }

    private static func ownDirectory() -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let size = buffer.count
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            return unsafe readlink("/proc/self/exe", base.assumingMemoryBound(to: CChar.self), size)
        }
        guard count > 0 else { return nil }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        guard let slash = path.lastIndex(of: "/") else { return nil }
        return String(path[..<slash])
    }
}
