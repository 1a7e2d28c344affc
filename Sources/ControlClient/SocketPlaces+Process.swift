internal import Glibc

extension SocketPlaces.Surroundings {
    /// Those of this process.
    public static func ofProcess() -> SocketPlaces.Surroundings {
        var environment: [String: String] = [:]
        for name in ["HOME", "STARLING_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"] {
            if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
        }
        var home: String?
        if let entry = unsafe getpwuid(getuid()), let directory = unsafe entry.pointee.pw_dir {
            home = unsafe String(cString: directory)
        }
        return SocketPlaces.Surroundings(
            environment: environment, passwordHome: home, userID: getuid(), currentDirectory: currentDirectory())
    }

    private static func currentDirectory() -> String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
