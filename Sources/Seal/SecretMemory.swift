internal import CSodium
internal import Glibc

/// Memory for secrets: never swapped (mlock(2)), never in a core dump (madvise(2) MADV_DONTDUMP), between pages that
/// cannot be touched; wiped before a place is used again.
///
/// One area for all, because what the kernel locks are whole pages and a process may lock few of them. A link has two
/// keys; the area has room for those of twice as many links as a node has. Where the kernel does not let it be
/// locked, and for what finds no place, secrets are in ordinary memory that is wiped all the same.
@safe
final class SecretMemory: @unchecked Sendable {
    static let shared = SecretMemory()

    /// Bytes of a place: libsodium's form of a signing key, the greatest secret there is.
    static let placeBytes = 64
    /// 64 KiB.
    static let placesMax = 1024

    private let area: UnsafeMutableRawPointer?
    /// Of the C library, for the thread sanitizer knows nothing of Swift's own.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Numbers of places that nobody uses; only with the lock held.
    private var free: [Int]

    /// There is one, for as long as the process lives.
    private init() {
        Sodium.start()
        unsafe area = sodium_malloc(SecretMemory.placeBytes * SecretMemory.placesMax)
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        // Fails only for attributes, and there are none (pthread_mutex_init(3)).
        unsafe pthread_mutex_init(mutex, nil)
        free = unsafe area == nil ? [] : Array((0..<SecretMemory.placesMax).reversed())
    }

    private func withFree<Result>(_ body: (inout [Int]) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&free)
    }

    /// Places in use.
    var usedCount: Int { SecretMemory.placesMax - withFree { $0.count } }

    /// A place of zeros; nil if there is none.
    func take(_ count: Int) -> UnsafeMutablePointer<UInt8>? {
        guard count <= SecretMemory.placeBytes, let area = unsafe area, let number = withFree({ $0.popLast() })
        else { return nil }
        let place = unsafe area + number * SecretMemory.placeBytes
        return unsafe place.bindMemory(to: UInt8.self, capacity: SecretMemory.placeBytes)
    }

    /// Wipes a place and gives it back; false if it is none of this area.
    func giveBack(_ place: UnsafeMutablePointer<UInt8>) -> Bool {
        guard let area = unsafe area else { return false }
        let offset = unsafe UnsafeMutableRawPointer(place) - area
        guard (0..<SecretMemory.placeBytes * SecretMemory.placesMax).contains(offset) else { return false }
        unsafe sodium_memzero(place, SecretMemory.placeBytes)
        withFree { $0.append(offset / SecretMemory.placeBytes) }
        return true
    }
}
