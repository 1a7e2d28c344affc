/// 32 bytes inline: a hash, a key, an identifier.
///
/// Held as four big-endian words, so that comparison is byte order and costs at most four integer comparisons, and so
/// that a value of this type never allocates. Comparison is not constant-time: compare only what is public.
public struct Bytes32: Sendable, Hashable, Comparable {
    @usableFromInline let word0: UInt64
    @usableFromInline let word1: UInt64
    @usableFromInline let word2: UInt64
    @usableFromInline let word3: UInt64

    @inlinable
    init(_ word0: UInt64, _ word1: UInt64, _ word2: UInt64, _ word3: UInt64) {
        self.word0 = word0
        self.word1 = word1
        self.word2 = word2
        self.word3 = word3
    }

    /// All 32 bytes zero.
    public static let zero = Bytes32(0, 0, 0, 0)

    /// Nil unless there are exactly 32 bytes.
    @inlinable
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        // Arrays and slices lie in one piece.
        let whole = bytes.withContiguousStorageIfAvailable { buffer in
            let memory = UnsafeRawBufferPointer(buffer)
            return unsafe Memory(
                memory.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                memory.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                memory.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
                memory.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        }
        if let whole {
            self.init(memory: whole)
            return
        }
        var iterator = bytes.makeIterator()
        func word() -> UInt64? {
            var word: UInt64 = 0
            for _ in 0..<8 {
                guard let byte = iterator.next() else { return nil }
                word = word << 8 | UInt64(byte)
            }
            return word
        }
        guard let first = word(), let second = word(), let third = word(), let fourth = word() else { return nil }
        self.init(first, second, third, fourth)
    }

    /// The bytes of a big-endian number and 24 more; nil unless there are 24.
    @inlinable
    public init?(prefix: UInt64, rest: UnsafeRawBufferPointer) {
        guard rest.count == 24 else { return nil }
        self.init(
            prefix, unsafe UInt64(bigEndian: rest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            unsafe UInt64(bigEndian: rest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            unsafe UInt64(bigEndian: rest.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
    }

    /// One byte, 32 times.
    @inlinable
    public init(repeating byte: UInt8) {
        let word = UInt64(byte) &* 0x0101_0101_0101_0101
        self.init(word, word, word, word)
    }

    /// Four words as they lie in memory, that is in byte order whatever the machine's.
    @usableFromInline typealias Memory = (UInt64, UInt64, UInt64, UInt64)

    @inlinable
    init(memory: Memory) {
        self.init(memory.0.bigEndian, memory.1.bigEndian, memory.2.bigEndian, memory.3.bigEndian)
    }

    @inlinable
    var memory: Memory {
        (word0.bigEndian, word1.bigEndian, word2.bigEndian, word3.bigEndian)
    }

    /// What `fill` writes into 32 zeroed bytes.
    @inlinable
    init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        var memory: Memory = (0, 0, 0, 0)
        unsafe withUnsafeMutablePointer(to: &memory) {
            unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 32) { unsafe fill($0) }
        }
        self.init(memory: memory)
    }

    /// Calls `body` with the 32 bytes in order, valid during the call only.
    @inlinable
    public func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafePointer(to: memory) {
            unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 32) { unsafe body($0) }
        }
    }

    /// The bytes in order, as a new array.
    @inlinable
    public var bytes: [UInt8] {
        unsafe withBytes { unsafe Array(UnsafeBufferPointer(start: $0, count: 32)) }
    }

    /// Appends the 32 bytes without an intermediate array.
    @inlinable
    public func append(to array: inout [UInt8]) {
        unsafe withBytes { unsafe array.append(contentsOf: UnsafeBufferPointer(start: $0, count: 32)) }
    }

    /// The first eight bytes as a big-endian number: what the peer protocol cuts digests and ids to.
    @inlinable
    public var prefix64: UInt64 { word0 }

    /// Byte order.
    @inlinable
    public static func < (left: Bytes32, right: Bytes32) -> Bool {
        if left.word0 != right.word0 { return left.word0 < right.word0 }
        if left.word1 != right.word1 { return left.word1 < right.word1 }
        if left.word2 != right.word2 { return left.word2 < right.word2 }
        return left.word3 < right.word3
    }
}

// Digest sums: the bytes as a big-endian number, modulo 2^256.
extension Bytes32 {
    /// The sum modulo 2^256.
    @inlinable
    public static func &+ (left: Bytes32, right: Bytes32) -> Bytes32 {
        let (word3, carry3) = left.word3.addingReportingOverflow(right.word3)
        let (word2, carry2) = sum(left.word2, right.word2, carry3)
        let (word1, carry1) = sum(left.word1, right.word1, carry2)
        let (word0, _) = sum(left.word0, right.word0, carry1)
        return Bytes32(word0, word1, word2, word3)
    }

    /// The difference modulo 2^256.
    @inlinable
    public static func &- (left: Bytes32, right: Bytes32) -> Bytes32 {
        let (word3, borrow3) = left.word3.subtractingReportingOverflow(right.word3)
        let (word2, borrow2) = difference(left.word2, right.word2, borrow3)
        let (word1, borrow1) = difference(left.word1, right.word1, borrow2)
        let (word0, _) = difference(left.word0, right.word0, borrow1)
        return Bytes32(word0, word1, word2, word3)
    }

    /// Adds in place modulo 2^256.
    @inlinable
    public static func &+= (left: inout Bytes32, right: Bytes32) { left = left &+ right }

    /// Subtracts in place modulo 2^256.
    @inlinable
    public static func &-= (left: inout Bytes32, right: Bytes32) { left = left &- right }

    @inlinable
    static func sum(_ left: UInt64, _ right: UInt64, _ carry: Bool) -> (UInt64, Bool) {
        let (partial, overflow) = left.addingReportingOverflow(right)
        let (total, second) = partial.addingReportingOverflow(carry ? 1 : 0)
        return (total, overflow || second)
    }

    @inlinable
    static func difference(_ left: UInt64, _ right: UInt64, _ borrow: Bool) -> (UInt64, Bool) {
        let (partial, overflow) = left.subtractingReportingOverflow(right)
        let (total, second) = partial.subtractingReportingOverflow(borrow ? 1 : 0)
        return (total, overflow || second)
    }
}

extension Bytes32: CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public var hex: String { Hex.encode(bytes) }

    /// The same as `hex`. Keep secrets out of descriptions: this type cannot tell a key from a hash.
    public var description: String { hex }

    /// Nil unless there are exactly 64 hexadecimal digits, of either case.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes)
    }
}
