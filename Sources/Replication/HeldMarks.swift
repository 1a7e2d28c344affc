public import Seal
internal import Wire

/// Up to which of this node's changes each other node has held everything that was here.
///
/// Two nodes with equal roots hold the same entries. The roots that come with every HELLO, PING and PONG are looked up
/// among those that this node has had lately, so it costs no message to know what has arrived where, however many
/// entries there are. A mark says what a node held at some time; what it has lost since, this does not know.
public struct HeldMarks: Sendable {
    /// Own roots that are remembered: a peer that is further behind is recognised when it has caught up.
    static let rootsMax = 256
    /// Nodes that are remembered; those who know least are forgotten first.
    public static let nodesMax = 1024
    private static let recordBytes = 40

    /// The number of the last change, by the root that the node had after it.
    private var changes: [DigestPrefix: Int64] = [:]
    /// The same roots, the oldest first.
    private var roots: [DigestPrefix] = []
    private var marks: [Bytes32: Int64] = [:]
    private var noted: (root: DigestPrefix, change: Int64)?
    /// Rises with every mark that does.
    public private(set) var version = 0

    public init() {}

    /// - `lastChange`: of the store: what it does not have, nobody can have from here.
    public init(restoring bytes: [UInt8], lastChange: Int64) {
        for start in stride(from: 0, to: bytes.count - bytes.count % Self.recordBytes, by: Self.recordBytes) {
            guard let node = Bytes32(bytes[start..<(start + 32)]) else { continue }
            let number = bytes[(start + 32)..<(start + Self.recordBytes)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let mark = min(Int64(bitPattern: number), lastChange)
            if mark > 0, marks.count < Self.nodesMax { marks[node] = mark }
        }
    }

    /// What ``init(restoring:lastChange:)`` takes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for (node, mark) in marks.sorted(by: { $0.key < $1.key }) {
            bytes += node.bytes
            for shift in stride(from: Int64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: mark >> shift))
            }
        }
        return bytes
    }

    /// The number of the change up to which a node has held everything; 0 for one that nothing is known of.
    public func mark(of node: Bytes32) -> Int64 { marks[node] ?? 0 }

    /// Who has held everything up to a change, in a fixed order.
    public func holders(of change: Int64) -> [Bytes32] { marks.filter { $0.value >= change }.keys.sorted() }

    /// Whether somebody besides one node has held everything up to a change.
    public func isHeld(_ change: Int64, besides node: Bytes32) -> Bool {
        marks.contains { $0.value >= change && $0.key != node }
    }

    /// Remembers the root that this node has after a change.
    mutating func note(_ root: DigestPrefix, change: Int64) {
        guard change != noted?.change || root != noted?.root else { return }
        noted = (root, change)
        if changes.updateValue(change, forKey: root) == nil { roots.append(root) }
        guard roots.count > 2 * Self.rootsMax else { return }
        for old in roots.prefix(Self.rootsMax) { changes[old] = nil }
        roots.removeFirst(Self.rootsMax)
    }

    /// A node has said its root.
    mutating func heard(_ root: DigestPrefix, from node: Bytes32) {
        guard let change = changes[root], change > mark(of: node) else { return }
        if marks[node] == nil, marks.count >= Self.nodesMax,
            let least = marks.min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            guard least.value < change else { return }
            marks[least.key] = nil
        }
        marks[node] = change
        version += 1
    }
}
