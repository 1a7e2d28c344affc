/// Workspace time: the weighted median of the raw clocks of this node and its connected peers.
///
/// A weighted majority of liars can move it; a minority cannot. The result is never stepped back.
public struct ClockEstimate: Sendable {
    /// A clock's weight if the kernel says that it is synchronised, and otherwise.
    static let synchronisedWeight = 4
    static let freeWeight = 1
    /// A clock this far behind its owner's greatest applied time has lost its battery.
    static let behindMsMax: UInt64 = 48 * 3600 * 1000
    /// Workspace time approaches a changed median by at most this much a second of real time.
    static let slewMsPerSecond: Int64 = 500

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
    /// Workspace time minus own raw clock, in milliseconds; what ``offset`` slews towards.
    private var target: Int64 = 0
    /// Workspace time minus own raw clock, as applied now.
    public private(set) var offsetMs: Int64 = 0
    private var updatedMs: UInt64?
    private var lastMs: UInt64 = 0

    public init(buildMs: UInt64) { self.buildMs = buildMs }

    /// Takes in readings of all clocks, the own one first.
    ///
    /// - `nowMs`: monotonic time of the readings.
    public mutating func update(own: Sample, peers: [Sample], nowMs: UInt64) {
        let all = [own] + peers
        let anyContent = all.contains { $0.highWaterMs > 0 }
        let weighted = all.map { (ms: $0.clockMs, weight: weight($0, anyContent: anyContent)) }
            .filter { $0.weight > 0 }.sorted { $0.ms < $1.ms }
        let median =
            weighted.isEmpty
            ? max(own.clockMs, buildMs, own.highWaterMs) : ClockEstimate.median(weighted)
        target = Int64(clamping: median) &- Int64(clamping: own.clockMs)
        // A clock that is certainly wrong is not approached from but left: time may jump forwards, and everything that
        // this node says meanwhile would be too old for others.
        let isBroken = weight(own, anyContent: false) == 0
        if updatedMs == nil || (isBroken && target > offsetMs) { offsetMs = target }
        slew(nowMs)
    }

    /// Workspace time for a reading of the own raw clock; never less than what was returned before.
    public mutating func workspaceMs(ownClockMs: UInt64, nowMs: UInt64) -> UInt64 {
        slew(nowMs)
        let estimate = UInt64(clamping: Int64(clamping: ownClockMs) &+ offsetMs)
        lastMs = max(lastMs, estimate)
        return lastMs
    }

    private mutating func slew(_ nowMs: UInt64) {
        let elapsed = Int64(clamping: nowMs &- min(updatedMs ?? nowMs, nowMs))
        updatedMs = nowMs
        let step = max(1, elapsed * ClockEstimate.slewMsPerSecond / 1000)
        guard elapsed > 0 else { return }
        // Others' clocks may show anything, so nothing here may overflow.
        let (difference, overflows) = target.subtractingReportingOverflow(offsetMs)
        let wanted = overflows ? (target < offsetMs ? -step : step) : max(-step, min(step, difference))
        offsetMs = offsetMs.addingReportingOverflow(wanted).overflow ? offsetMs : offsetMs + wanted
    }

    private func weight(_ sample: Sample, anyContent: Bool) -> Int {
        if sample.clockMs < buildMs { return 0 }
        if sample.clockMs &+ ClockEstimate.behindMsMax < sample.highWaterMs { return 0 }
        if anyContent && sample.highWaterMs == 0 { return 0 }
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
