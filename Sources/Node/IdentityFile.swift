public import Seal

/// The node's signing key on disk: one line, readable by its owner alone.
public enum IdentityFile {
    private static let heading = "starling-identity-1 "
    private static let sizeMax = 256

    /// Reads the key, or makes one where there is none yet.
    ///
    /// - Throws: `unsafe_file` if the file is another user's, a link, or readable by others; `file_system` otherwise.
    public static func loadOrCreate(_ path: String) throws(NodeError) -> (key: SigningKey, isNew: Bool) {
        if let key = try load(path) { return (key, false) }
        let key = SigningKey()
        try write(key, to: path)
        return (key, true)
    }

    /// Reads the key; nil if there is no file.
    static func load(_ path: String) throws(NodeError) -> SigningKey? {
        guard let text = try SecretFile.read(path, sizeMax: sizeMax) else { return nil }
        guard text.hasPrefix(heading), let line = text.dropFirst(heading.count).split(separator: "\n").first,
            let seed = Bytes32(hex: String(line))
        else { throw NodeError(.fileSystem, "\(path) is no identity file; put the right one back or move it away") }
        return SigningKey(seed: seed)
    }

    /// Leaves what was there before or the whole new file, whenever the process dies.
    static func write(_ key: SigningKey, to path: String) throws(NodeError) {
        try SecretFile.write(heading + key.seed.hex + "\n", to: path)
    }
}
