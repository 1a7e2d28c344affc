/// A reference to the responder, by a number that is never used twice.
struct RefID: Hashable, Comparable {
    let number: UInt64

    static func < (a: RefID, b: RefID) -> Bool {
        a.number < b.number
    }
}

/// The short-lived references: questions about one instance, a few at a time, each with a deadline.
struct RefPool {
    /// Questions at a time. A reference costs a thread, a connection to D-Bus and five descriptors.
    static let sizeMax = 4

    enum Job: Hashable {
        case resolve(ServiceKey)
        case query(ServiceKey, AddressFamily)

        var key: ServiceKey {
            switch self {
            case .resolve(let key), .query(let key, _): key
            }
        }
    }

    private struct Running {
        let job: Job
        /// None until the responder has taken the question: that call may hang.
        var deadlineMs: Int64?
    }

    private var running: [RefID: Running] = [:]
    private var waiting: [Job] = []

    /// Adds a job behind all others.
    mutating func append(_ job: Job) {
        waiting.append(job)
    }

    /// Adds jobs before all others: what is half done is finished first.
    mutating func prepend(_ jobs: [Job]) {
        waiting.insert(contentsOf: jobs, at: 0)
    }

    /// The next job, which now runs under this id; nil when none waits or the pool is full.
    mutating func startNext(as id: RefID) -> Job? {
        guard running.count < Self.sizeMax, !waiting.isEmpty else {
            return nil
        }
        let job = waiting.removeFirst()
        running[id] = Running(job: job)
        return job
    }

    /// The job that runs under this id.
    func job(_ id: RefID) -> Job? {
        running[id]?.job
    }

    /// Brings the deadline of a running job forward, or sets its first one.
    mutating func limit(_ id: RefID, toMs deadlineMs: Int64) {
        if let earlier = running[id]?.deadlineMs {
            running[id]?.deadlineMs = min(earlier, deadlineMs)
        } else {
            running[id]?.deadlineMs = deadlineMs
        }
    }

    /// Ends a running job.
    mutating func finish(_ id: RefID) {
        running[id] = nil
    }

    /// Forgets the jobs about a key and returns the ids of those that ran.
    mutating func cancel(_ key: ServiceKey) -> [RefID] {
        waiting.removeAll { $0.key == key }
        let ids = running.filter { $0.value.job.key == key }.keys.sorted()
        ids.forEach { running[$0] = nil }
        return ids
    }

    /// Forgets all jobs and returns the ids of those that ran.
    mutating func cancelAll() -> [RefID] {
        let ids = running.keys.sorted()
        self = RefPool()
        return ids
    }

    /// The running jobs whose deadline has passed.
    func expired(nowMs: Int64) -> [RefID] {
        running.filter { ($0.value.deadlineMs ?? .max) <= nowMs }.keys.sorted()
    }

    /// The earliest deadline.
    var nextMs: Int64? {
        running.values.lazy.compactMap(\.deadlineMs).min()
    }
}
