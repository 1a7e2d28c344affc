internal import Seal

/// How members recognise each other's announcements, which to others are noise that differs at each start.
extension Workspace {
    private static let saltBytes = 16
    private static let hintBytes = 8

    private static func hint(_ salt: [UInt8], _ networkKey: Bytes32) -> [UInt8] {
        Array(BLAKE2b.hash(Array("starling-hint".utf8) + salt, key: networkKey.bytes).bytes.prefix(hintBytes))
    }

    /// The pairs of a TXT record: a salt, and hints of the present key and of those before. Who was away when the key
    /// changed knows one of these: it finds those who can hand over the present one.
    func announcement() -> [(String, [UInt8])] {
        let salt = SecureRandom.bytes(Workspace.saltBytes)
        func hint(_ key: Bytes32) -> [UInt8] { Workspace.hint(salt, key) }
        let now = [("txtvers", Array("1".utf8)), ("v", Array("1".utf8)), ("s", salt), ("h", hint(networkKey))]
        let (last, earlier) = (previousKeys.prefix(1), previousKeys.dropFirst())
        return now + last.map { ("p", hint($0)) } + (earlier.isEmpty ? [] : [("q", earlier.flatMap(hint))])
    }

    /// Whether a TXT record is of this workspace, under the key that is known here or one after it.
    func isAnnounced(in txt: [String: [UInt8]]) -> Bool {
        guard let salt = txt["s"], salt.count == Workspace.saltBytes else { return false }
        let (own, earlier) = (Workspace.hint(salt, networkKey), txt["q"] ?? [])
        return [txt["h"], txt["p"]].contains(own)
            || stride(from: 0, to: earlier.count, by: Workspace.hintBytes).contains {
                earlier[$0...].prefix(Workspace.hintBytes).elementsEqual(own)
            }
    }
}
