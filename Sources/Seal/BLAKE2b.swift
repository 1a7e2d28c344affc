internal import CSodium

/// BLAKE2b with 256-bit output (RFC 7693), optionally keyed.
///
/// A key is 0 to 64 bytes; a longer one is a programming error and traps.
public enum BLAKE2b {
    /// The hash of `input`. Allocates nothing.
    public static func hash(_ input: [UInt8], key: [UInt8] = []) -> Bytes32 {
        Sodium.start()
        checkKey(key)
        return unsafe Bytes32 { output in
            _ = unsafe crypto_generichash_blake2b(output, 32, input, UInt64(input.count), key, key.count)
        }
    }

    /// The hash of the parts one after another, without joining them in memory and without allocating. Nothing marks
    /// where one part ends, so a format that hashes parts of varying length has to carry the lengths itself.
    public static func hash(_ parts: [[UInt8]], key: [UInt8] = []) -> Bytes32 {
        Sodium.start()
        checkKey(key)
        return unsafe withUnsafeTemporaryAllocation(byteCount: stateSize, alignment: stateAlignment) { memory in
            guard let start = memory.baseAddress else { preconditionFailure("an allocation without an address") }
            let state = OpaquePointer(start)
            _ = unsafe crypto_generichash_blake2b_init(state, key, key.count, 32)
            for part in parts { _ = unsafe crypto_generichash_blake2b_update(state, part, UInt64(part.count)) }
            return unsafe Bytes32 { output in _ = unsafe crypto_generichash_blake2b_final(state, output, 32) }
        }
    }

    private static func checkKey(_ key: [UInt8]) {
        precondition(key.count <= 64, "BLAKE2b key of \(key.count) bytes")
    }

    /// libsodium's `crypto_generichash_blake2b_state`, which Swift does not import because of its alignment.
    private static let stateSize = crypto_generichash_blake2b_statebytes()
    private static let stateAlignment = 64

    /// Hashes what arrives in pieces. A value: a copy goes its own way. One allocation for its life.
    public struct Hasher: Sendable {
        private var state: State

        /// A key is 0 to 64 bytes; a longer one traps.
        public init(key: [UInt8] = []) {
            Sodium.start()
            checkKey(key)
            state = State(key: key)
        }

        /// Appends bytes to what is hashed.
        public mutating func update(_ bytes: [UInt8]) {
            unsafe update { unsafe crypto_generichash_blake2b_update($0, bytes, UInt64(bytes.count)) }
        }

        /// Appends bytes to what is hashed, without copying them.
        public mutating func update(_ bytes: ArraySlice<UInt8>) {
            unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe update { unsafe crypto_generichash_blake2b_update($0, buffer.baseAddress, UInt64(buffer.count)) }
            }
        }

        /// Appends the 32 bytes to what is hashed.
        public mutating func update(_ bytes: Bytes32) {
            unsafe bytes.withBytes { pointer in
                unsafe update { unsafe crypto_generichash_blake2b_update($0, pointer, 32) }
            }
        }

        /// The hash of everything so far. The hasher may go on being updated.
        public func finalize() -> Bytes32 {
            let last = State(copyOf: state)
            return unsafe Bytes32 { output in
                _ = unsafe crypto_generichash_blake2b_final(last.pointer, output, 32)
            }
        }

        private mutating func update(_ body: (OpaquePointer) -> Int32) {
            if !isKnownUniquelyReferenced(&state) { state = State(copyOf: state) }
            _ = unsafe body(state.pointer)
        }
    }

    /// The aligned memory of one running hash, changed only while uniquely referenced.
    @safe
    private final class State: @unchecked Sendable {
        private let memory: UnsafeMutableRawPointer
        var pointer: OpaquePointer { unsafe OpaquePointer(memory) }

        private init() {
            unsafe memory = UnsafeMutableRawPointer.allocate(byteCount: stateSize, alignment: stateAlignment)
        }

        convenience init(key: [UInt8]) {
            self.init()
            _ = unsafe crypto_generichash_blake2b_init(pointer, key, key.count, 32)
        }

        convenience init(copyOf other: State) {
            self.init()
            unsafe memory.copyMemory(from: other.memory, byteCount: stateSize)
        }

        deinit {
            // A keyed state holds the key's first block until it is absorbed.
            unsafe sodium_memzero(memory, stateSize)
            unsafe memory.deallocate()
        }
    }
}
