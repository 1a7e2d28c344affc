/// An Ed25519 signature: 64 bytes, not checked until `Ed25519.verify`.
public struct Signature: Sendable, Hashable {
    @usableFromInline let first: Bytes32
    @usableFromInline let second: Bytes32

    /// Nil unless there are exactly 64 bytes.
    @inlinable
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 64, let first = Bytes32(bytes.prefix(32)), let second = Bytes32(bytes.dropFirst(32)) else {
            return nil
        }
        self.first = first
        self.second = second
    }

    /// What `fill` writes into 64 zeroed bytes.
    init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        var memory = (Bytes32.zero.memory, Bytes32.zero.memory)
        unsafe withUnsafeMutablePointer(to: &memory) {
            unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 64) { unsafe fill($0) }
        }
        first = Bytes32(memory: memory.0)
        second = Bytes32(memory: memory.1)
    }

    /// Calls `body` with the 64 bytes in order, valid during the call only.
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafePointer(to: (first.memory, second.memory)) {
            unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 64) { unsafe body($0) }
        }
    }

    /// The first 8 bytes as a big-endian number: different for different signatures, unless somebody tries.
    public var prefix64: UInt64 { first.prefix64 }

    /// The bytes in order, R then S, as a new array.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        append(to: &bytes)
        return bytes
    }

    /// Appends the 64 bytes without an intermediate array.
    public func append(to array: inout [UInt8]) {
        first.append(to: &array)
        second.append(to: &array)
    }
}

extension Signature: CustomStringConvertible {
    /// 128 lower-case hexadecimal digits.
    public var description: String { Hex.encode(bytes) }
}
