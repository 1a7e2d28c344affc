internal import Glibc
internal import Seal

/// The files that say which workspace a home is in.
extension NodeHome {
    /// The private workspace that the home is in, with its keys; no file for the open one.
    public var workspacePath: String { dataDirectory + "/workspace.key" }

    /// Where the database of a workspace is while the home is in another.
    func asideDatabasePath(_ workspace: Bytes32) -> String {
        dataDirectory + "/workspace-\(workspace.hex.prefix(16)).db"
    }

    /// Where the keys of a workspace are that the home has left.
    func asideWorkspacePath(_ workspace: Bytes32) -> String {
        dataDirectory + "/workspace-\(workspace.hex.prefix(16)).key"
    }

    static func remove(_ path: String) throws(NodeError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw NodeError(.fileSystem, "cannot remove \(path): \(message(errno))")
        }
        SecretFile.syncFolder(of: path)
    }
}
