internal import CSodium
internal import Glibc

/// Remembers signatures that were found genuine: entries that were signed together come in hundreds of parts, each with
/// the same signature over the same root, and verifying it takes longer than all else that is done with a part.
///
/// Whether a signature is genuine depends on nothing but the three that are remembered. May be used from any thread.
@safe
public final class VerifiedSignatures: @unchecked Sendable {
    /// Signatures that are remembered, of 160 bytes each; when it is full it begins anew.
    public static let countMax = 2048

    private struct Known: Hashable {
        let signature: Signature
        let message: Bytes32
        let author: Bytes32
    }

    /// Of the C library, for the thread sanitizer knows nothing of Swift's own.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var known: Set<Known> = []

    public init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        // Fails only for attributes, and there are none (pthread_mutex_init(3)).
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Whether `signature` over `message` was made by the owner of `key`, as ``Ed25519/verify(_:_:by:)`` says.
    public func verify(_ signature: Signature, _ message: [UInt8], by key: Bytes32) -> Bool {
        let candidate = Known(signature: signature, message: BLAKE2b.hash(message), author: key)
        if withKnown({ $0.contains(candidate) }) { return true }
        // Outside the lock: two threads may verify the same one, and none waits for the other.
        guard Ed25519.verify(signature, message, by: key) else { return false }
        withKnown { known in
            if known.count >= VerifiedSignatures.countMax { known.removeAll(keepingCapacity: true) }
            known.insert(candidate)
        }
        return true
    }

    /// Signatures that are remembered now.
    var count: Int { withKnown { $0.count } }

    private func withKnown<Result>(_ body: (inout Set<Known>) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&known)
    }
}
