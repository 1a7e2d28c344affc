internal import CSodium

/// Secret bytes in memory of their own (``SecretMemory``) that is wiped when the last owner lets go. Never printed.
///
/// Immutable after `init`, hence safe to share. Temporaries that the compiler makes on the stack while a secret is used
/// are not covered: wiping narrows the window in which a swapped page shows a key, it does not close it.
@safe
final class Secret: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    private let storage: UnsafeMutablePointer<UInt8>
    let count: Int

    /// `fill` gets `count` zeroed bytes.
    init(count: Int, filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        if let place = unsafe SecretMemory.shared.take(count) {
            unsafe storage = place
        } else {
            unsafe storage = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
        }
        unsafe storage.initialize(repeating: 0, count: count)
        self.count = count
        unsafe fill(storage)
    }

    convenience init(_ bytes: Bytes32) {
        unsafe self.init(count: 32) { copy in
            unsafe bytes.withBytes { unsafe copy.update(from: $0, count: 32) }
        }
    }

    /// No bytes at all: what Noise's `Split` feeds its key derivation.
    static let empty = unsafe Secret(count: 0) { _ in }

    deinit {
        guard unsafe !SecretMemory.shared.giveBack(storage) else { return }
        unsafe sodium_memzero(storage, count)
        unsafe storage.deallocate()
    }

    /// Calls `body` with the bytes, valid during the call only.
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe body(UnsafePointer(storage))
    }

    var description: String { "(secret)" }
    var debugDescription: String { "(secret)" }
}
