/// A hybrid logical time: 48 bits of milliseconds since 1970 and a 16-bit counter of which 0…63 are used, so that every
/// time is also the head of an ``AutoID``.
public struct HLC: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Ticks within one millisecond; a greater counter is refused.
    public static let counterMax: UInt64 = 63
    /// The greatest millisecond that fits.
    public static let msMax: UInt64 = (1 << 48) - 1

    public let rawValue: UInt64

    public static let zero = HLC(unchecked: 0)
    /// The end of time.
    public static let greatest = HLC(ms: msMax, counter: counterMax)

    private init(unchecked rawValue: UInt64) { self.rawValue = rawValue }

    /// A time as it stands in entries, or nil where the counter is 64 or more.
    public init?(rawValue: UInt64) {
        guard rawValue & 0xFFFF <= HLC.counterMax else { return nil }
        self.rawValue = rawValue
    }

    /// Milliseconds beyond 48 bits and counters beyond 63 are clamped.
    public init(ms: UInt64, counter: UInt64 = 0) {
        rawValue = min(ms, HLC.msMax) << 16 | min(counter, HLC.counterMax)
    }

    public var ms: UInt64 { rawValue >> 16 }
    public var counter: UInt64 { rawValue & 0xFFFF }

    /// The tick after this one: the next counter, and after the 64th the next millisecond.
    public var next: HLC { counter < HLC.counterMax ? HLC(ms: ms, counter: counter + 1) : HLC(ms: ms + 1) }

    public static func < (a: HLC, b: HLC) -> Bool { a.rawValue < b.rawValue }

    public var description: String { "\(ms).\(counter)" }
}

/// The clock that stamps a node's own entries: strictly increasing, never behind what the node has applied, and never
/// far ahead of the world.
public struct HybridClock: Sendable {
    /// A node's own bursts run at most this far ahead of workspace time, of what it applied from others and of its
    /// start (64,000 ticks); then they wait, so that a burst cannot drag everybody's clock into the future.
    public static let leadMsMax: UInt64 = 1000

    /// The last time given out or applied.
    public private(set) var last: HLC
    /// The greatest time applied from others, in milliseconds, or that of the start: a node that was killed in a burst
    /// begins up to two seconds ahead of workspace time, and has to be able to write at once.
    private var appliedMs: UInt64
    /// Where each millisecond begins to be counted.
    private let counter: UInt64

    /// Begins after everything this node may have stamped before: the greater of workspace time and the greatest stored
    /// time, plus a random 1…1000 ms and a random counter 0…31, so that nothing is minted twice after a power cut, a
    /// restored backup or a cloned disk. Each later millisecond begins with the same counter, so that two clones that
    /// write at once hardly ever choose one time.
    public init(workspaceMs: UInt64, greatestStored: HLC, randomness: UInt64) {
        let base = max(workspaceMs, greatestStored.ms)
        counter = (randomness >> 32) % 32
        last = HLC(ms: base &+ 1 &+ randomness % 1000, counter: counter)
        appliedMs = last.ms
    }

    /// The next time for an entry of this node, or nil while the clock is a second ahead: try again a little later.
    public mutating func tick(workspaceMs: UInt64) -> HLC? {
        let candidate = max(last.next, HLC(ms: workspaceMs, counter: counter))
        let base = min(max(workspaceMs, appliedMs), HLC.msMax)
        // At the end of time there is no next tick.
        guard candidate > last, candidate.ms <= base + HybridClock.leadMsMax else { return nil }
        last = candidate
        return candidate
    }

    /// Makes the next tick later than a time that this node has given to something else.
    public mutating func pass(_ hlc: HLC) { last = max(last, hlc) }

    /// Takes over the time of an entry that was applied and came from elsewhere. Those of this node's own writes are
    /// taken over as they are given out; counting them here would let a burst pull itself along.
    public mutating func observe(_ hlc: HLC) {
        last = max(last, hlc)
        appliedMs = max(appliedMs, hlc.ms)
    }
}
