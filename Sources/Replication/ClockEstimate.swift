internal import Tree

/// Workspace time: the weighted median of the raw clocks of this node and its connected peers.
///
/// It runs by the monotonic clock and is slewed towards the median, so that nobody's clock that jumps takes it along,
/// not even the own one. It is not stepped back but in two cases: when a node that was alone meets others (what it had
/// was nothing but its own clock), and when it has been so far from the median for a while that what others write would
/// be held here, or what this node writes there. A weighted majority of liars can move it; a minority cannot.
public struct ClockEstimate: Sendable {
    /// A clock's weight if the kernel says that it is synchronised, and otherwise.
    static let synchronisedWeight = 4
    static let freeWeight = 1
    /// A clock this far behind its owner's greatest applied time has lost its battery.
    static let behindMsMax: UInt64 = 48 * 3600 * 1000
    /// What counts as nothing stored: a default name has the time 1.
    static let nothingMs: UInt64 = 1
    /// A clock beyond this, some time in the year 6429, is none.
    static let latestMs = HLC.msMax / 2
    /// Workspace time approaches a changed median by at most this much a second of real time.
    static let slewMsPerSecond: Int64 = 500
    /// Further than this from the median it is set rather than slewed: entries so far ahead are held.
    static let farMs: Int64 = 24 * 3600 * 1000
    /// How long it follows the median at once after the first contact, and how long it has to be far from it to be set
    /// later. A passing majority is none.
    static let settleMs: UInt64 = 10_000
    /// The own clock is looked at so often, and at once when it has jumped by more than this.
    static let refreshMs: UInt64 = 1000
    static let jumpMs: UInt64 = 50
    /// After a jump of the own clock by this much, as after a suspend, it may step forwards again.
    static let resumeMs: UInt64 = 1000

    public struct Sample: Sendable, Equatable {
        /// The clock's reading now, in milliseconds since 1970.
        public var clockMs: UInt64
        public var isSynchronised: Bool
        /// Milliseconds of the greatest time its owner has applied; 0 if he has stored nothing.
        public var highWaterMs: UInt64

        public init(clockMs: UInt64, isSynchronised: Bool, highWaterMs: UInt64) {
            self.clockMs = clockMs
            self.isSynchronised = isSynchronised
            self.highWaterMs = highWaterMs
        }
    }

    /// No clock is right that shows a time before the program was built.
    private let buildMs: UInt64
    private var own: Sample?
    private var peers: [Sample] = []
    /// Monotonic time of ``own`` and ``peers``, and of ``valueMs``.
    private var sampledMs: UInt64 = 0
    private var updatedMs: UInt64 = 0
    private var valueMs: UInt64 = 0
    /// The median minus ``valueMs``: what is left to be slewed.
    private var errorMs: Int64 = 0
    /// Since when there are peers; nil while this node is alone.
    private var contactMs: UInt64?
    /// Since when it is far from the median.
    private var farSinceMs: UInt64?
    /// It was stepped back since this was last asked.
    private var hasFallen = false

    public init(buildMs: UInt64) { self.buildMs = buildMs }

    /// Takes in readings of all clocks, the own one first.
    ///
    /// - `nowMs`: monotonic time of the readings.
    public mutating func update(own: Sample, peers: [Sample], nowMs: UInt64) {
        let before = self.own.map { $0.clockMs &+ elapsed(since: sampledMs, nowMs) }
        let jumpMs = before.map { own.clockMs > $0 ? own.clockMs - $0 : 0 } ?? 0
        advance(nowMs)
        let isFirst = self.own == nil
        (self.own, self.peers, sampledMs) = (own, peers, max(sampledMs, nowMs))
        let median = median()
        if isFirst { valueMs = median }
        errorMs = ClockEstimate.difference(median, valueMs)
        if peers.isEmpty {
            (contactMs, farSinceMs) = (nil, nil)
            // A suspended machine's monotonic clock stood still. What was known of the own clock's error stays known.
            if jumpMs > ClockEstimate.resumeMs, errorMs > 0 { set(min(median, valueMs &+ jumpMs), median) }
        } else {
            if contactMs == nil || jumpMs > ClockEstimate.resumeMs { contactMs = nowMs }
            follow(median, nowMs)
        }
    }

    private mutating func follow(_ median: UInt64, _ nowMs: UInt64) {
        let isFar = errorMs.magnitude > ClockEstimate.farMs.magnitude
        farSinceMs = isFar ? farSinceMs ?? nowMs : nil
        let hasLasted = farSinceMs.map { elapsed(since: $0, nowMs) >= ClockEstimate.settleMs } ?? false
        let isSettling = contactMs.map { elapsed(since: $0, nowMs) < ClockEstimate.settleMs } ?? true
        // A clock that is certainly wrong is not approached from but left: everything said meanwhile would be too old.
        let isBroken = own.map { weight($0, anyContent: false) == 0 } ?? true
        if errorMs > 0 ? isSettling || isBroken || hasLasted : isFar && (isSettling || hasLasted) {
            if errorMs < 0 { hasFallen = true }
            set(median, median)
        }
    }

    private mutating func set(_ value: UInt64, _ median: UInt64) {
        valueMs = value
        errorMs = ClockEstimate.difference(median, value)
        farSinceMs = nil
    }

    /// Workspace time for a reading of the own raw clock. Unless it was set, never less than what was returned before.
    public mutating func workspaceMs(ownClockMs: UInt64, nowMs: UInt64) -> UInt64 {
        guard var own else { return max(ownClockMs, buildMs) }
        let passedMs = elapsed(since: sampledMs, nowMs)
        let expectedMs = own.clockMs &+ passedMs
        let driftMs = max(expectedMs, ownClockMs) - min(expectedMs, ownClockMs)
        guard passedMs >= ClockEstimate.refreshMs || driftMs > ClockEstimate.jumpMs else {
            advance(nowMs)
            return valueMs
        }
        own.clockMs = ownClockMs
        let aged = peers.map { peer in
            var peer = peer
            peer.clockMs &+= passedMs
            return peer
        }
        update(own: own, peers: aged, nowMs: nowMs)
        return valueMs
    }

    /// Whether time was stepped back since the last call.
    mutating func takeFall() -> Bool {
        defer { hasFallen = false }
        return hasFallen
    }

    private func elapsed(since thenMs: UInt64, _ nowMs: UInt64) -> UInt64 { nowMs &- min(thenMs, nowMs) }

    /// Lets time pass by the monotonic clock, faster or slower by what is slewed.
    private mutating func advance(_ nowMs: UInt64) {
        let passedMs = Int64(clamping: min(elapsed(since: updatedMs, nowMs), HLC.msMax))
        updatedMs = max(updatedMs, nowMs)
        let stepMs = passedMs * ClockEstimate.slewMsPerSecond / 1000
        let slewedMs = max(-stepMs, min(stepMs, errorMs))
        errorMs -= slewedMs
        valueMs = UInt64(clamping: Int64(clamping: valueMs) &+ passedMs &+ slewedMs)
    }

    private static func difference(_ a: UInt64, _ b: UInt64) -> Int64 { Int64(clamping: a) &- Int64(clamping: b) }

    // MARK: The median

    private func median() -> UInt64 {
        guard let own else { return buildMs }
        let all = [own] + peers
        let anyContent = all.contains { $0.highWaterMs > ClockEstimate.nothingMs }
        let weighted = all.map { (ms: $0.clockMs, weight: weight($0, anyContent: anyContent)) }
            .filter { $0.weight > 0 }.sorted { $0.ms < $1.ms }
        guard !weighted.isEmpty else {
            return max(min(own.clockMs, ClockEstimate.latestMs), buildMs, own.highWaterMs)
        }
        return ClockEstimate.median(weighted)
    }

    private func weight(_ sample: Sample, anyContent: Bool) -> Int {
        if sample.clockMs < buildMs || sample.clockMs > ClockEstimate.latestMs { return 0 }
        if sample.clockMs &+ ClockEstimate.behindMsMax < sample.highWaterMs { return 0 }
        if anyContent && sample.highWaterMs <= ClockEstimate.nothingMs { return 0 }
        return sample.isSynchronised ? ClockEstimate.synchronisedWeight : ClockEstimate.freeWeight
    }

    /// The first reading at which half of the weight is reached: on a tie the earlier one.
    private static func median(_ sorted: [(ms: UInt64, weight: Int)]) -> UInt64 {
        let total = sorted.reduce(0) { $0 + $1.weight }
        var sum = 0
        for (ms, weight) in sorted {
            sum += weight
            if sum * 2 >= total { return ms }
        }
        return sorted.last?.ms ?? 0
    }
}
