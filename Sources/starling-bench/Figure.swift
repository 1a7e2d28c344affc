/// One number, what it is held against, and whether that is met.
struct Figure {
    enum Unit: String {
        case microseconds = "us"
        case milliseconds = "ms"
        case kilobytes = "kB"
        case megabytes = "MB"
        case bytes = "B"
        case seconds = "s"
        case perSecond = "/s"
        case megabytesPerSecond = "MB/s"
        /// 10⁶ bytes; the others' megabytes are the kernel's.
        case millionBytes = "10⁶ B"
        case percent = "%"
        case bytesPerSecond = "B/s"
        /// Processor time over time.
        case cores = "cores"
        /// Just a number.
        case count = ""

        /// Of times, how many nanoseconds one is.
        var ns: Double? {
            switch self {
            case .microseconds: 1e3
            case .milliseconds: 1e6
            case .seconds: 1e9
            default: nil
            }
        }

        /// Whether more of it is better.
        var isRate: Bool { self == .perSecond || self == .megabytesPerSecond }
    }

    enum Aim {
        /// At most this value.
        case atMost(Double)
        /// At least this value.
        case atLeast(Double)
        /// At most this many times the limit.
        case ratioAtMost(Double)
    }

    /// For scripts: words joined by dots, never changed.
    let key: String
    /// For people.
    let name: String
    let value: Double
    let unit: Unit
    /// What this machine can do at most, from the same run.
    var limit: Double?
    var aim: Aim?
    /// From the least to the greatest within one run, of which the value is the median.
    var range: ClosedRange<Double>?
    /// False for times that timers make and not the machine: they are compared as they are.
    var isOfMachine = true

    /// How many times the limit it takes; of rates, how many times it would go into the limit.
    var ratio: Double? {
        guard let limit, limit > 0, value > 0 else { return nil }
        return unit.isRate ? limit / value : value / limit
    }

    /// What two runs, or two machines, can be compared by; the more, the worse. The ratio where there is a limit; of
    /// other times and rates how many times the core's own work it takes; the value of what no machine changes.
    ///
    /// - Parameter coreNs: the time of a BLAKE2b of 200 bytes in this run, in nanoseconds.
    func mark(coreNs: Double) -> Double? {
        if let ratio { return ratio }
        guard value > 0 else { return nil }
        guard isOfMachine else { return unit.isRate ? 1 / value : value }
        guard unit.ns != nil || unit.isRate else { return value }
        // The limits themselves are measured before that, and say nothing beside those of another run.
        guard coreNs > 0 else { return nil }
        if let ns = unit.ns { return value * ns / coreNs }
        return 1e9 / coreNs / value
    }
}

/// The least, the median and the greatest of the same number from several runs.
struct Spread {
    let least: Double
    let median: Double
    let most: Double

    init(least: Double, median: Double, most: Double) { (self.least, self.median, self.most) = (least, median, most) }

    init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        self.init(least: first, median: sorted[sorted.count / 2], most: last)
    }

    /// How far it is from the least to the greatest, as a share of the median.
    var width: Double { median > 0 ? (most - least) / median : 0 }
}

/// A figure over all runs.
struct Outcome {
    /// Of the last run; its value is not the median.
    let figure: Figure
    let runs: Int
    let value: Spread
    let limit: Double?
    /// To the limit; nil without one.
    let ratio: Spread?
    let mark: Spread?

    init?(_ runs: [(figure: Figure, mark: Double?)]) {
        guard let last = runs.last?.figure, let value = Spread(runs.map(\.figure.value)) else { return nil }
        figure = last
        self.runs = runs.count
        if runs.count == 1, let range = last.range {
            self.value = Spread(least: range.lowerBound, median: last.value, most: range.upperBound)
        } else {
            self.value = value
        }
        limit = Spread(runs.compactMap(\.figure.limit))?.median
        ratio = Spread(runs.compactMap(\.figure.ratio))
        mark = Spread(runs.compactMap(\.mark))
    }

    /// Nil without an aim.
    var isMet: Bool? {
        switch figure.aim {
        case nil: nil
        case .atMost(let most): value.median <= most
        case .atLeast(let least): value.median >= least
        case .ratioAtMost(let most): ratio.map { $0.median <= most } ?? false
        }
    }
}
