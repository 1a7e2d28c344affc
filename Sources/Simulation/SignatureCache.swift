internal import Replication
internal import Seal

/// Remembers what signatures came to, so that one that a thousand nodes receive is checked once. The answers are those
/// of Ed25519.
///
/// `@unchecked Sendable`: it belongs to one simulation, whose machines run on one thread.
final class SignatureCache: @unchecked Sendable {
    private struct Name: Hashable {
        let signature: Signature
        let message: [UInt8]
        let author: Bytes32
    }

    /// Enough for what is under way at one time; then it begins anew.
    private static let countMax = 1 << 16

    private var known: [Name: Bool] = [:]

    func verify(_ signature: Signature, _ message: [UInt8], by author: Bytes32) -> Bool {
        let name = Name(signature: signature, message: message, author: author)
        if let answer = known[name] { return answer }
        if known.count >= SignatureCache.countMax { known.removeAll(keepingCapacity: true) }
        let answer = Ed25519.verify(signature, message, by: author)
        known[name] = answer
        return answer
    }
}
