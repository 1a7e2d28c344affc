/// Something that can be measured on its own. A new one is a file of its own and one entry in ``all``.
struct Suite: Sendable {
    /// For the command line: one word.
    let name: String
    /// For the help: what it measures.
    let about: String
    /// Long ones, and those whose figures are the same each time, are run once unless `--runs` says otherwise.
    var isLong = false
    /// Whether it is measured where none is named.
    var isUsual = true
    let measure: @Sendable (Bench) throws -> Void

    /// In the order of the report.
    static let all = [
        Suite(
            name: "latency",
            about: "from a client's send to the event at a client of the other node, and to the answer, one message at "
                + "a time and in bursts; in turns with the limit, so that noise hits both alike"
        ) { try LatencyBench($0.program, $0.scratch).measure(seconds: $0.seconds, $0.report) },
        Suite(
            name: "throughput",
            about: "a burst of 100,000 messages of 100 bytes from a client to a client of the other node, each counted "
                + "and in order; and 50 clients of one node that see 1,000 messages a second each"
        ) { try ThroughputBench($0).measure() },
        Suite(
            name: "local",
            about: "from a write to the event at another client of the same node, beside a round trip over a Unix "
                + "socket and one commit"
        ) { try LocalBench($0).measure() },
        Suite(
            name: "observe",
            about: "events to 1, 10 and 100 observers of one path, over one connection and over several; the memory "
                + "that an observer costs. The limit commits each write and sends each client its events in one piece"
        ) { try ObserveBench($0.program, $0.scratch).measure($0.report) },
        Suite(
            name: "query",
            about: "windows of channels of 10³ to 10⁶ messages, each against the smallest, in turns; and searching a "
                + "million messages",
            isLong: true
        ) { try QueryBench($0.program, $0.scratch).measure(messages: $0.count(1_000_000), $0.report, $0) },
        Suite(
            name: "memory",
            about: "a daemon with an empty workspace, with 1,000,000 messages, and while a million arrive",
            isLong: true
        ) { try MemoryBench($0).measure() },
        Suite(
            name: "start",
            about: "from exec to \"ready\", empty and with 1,000,000 messages, and two fresh daemons until the first "
                + "message is across"
        ) { try StartBench($0).measure() },
        Suite(
            name: "idle",
            about: "what a daemon with 5 peers costs while nothing happens: processor time, bytes, wake-ups"
        ) { try IdleBench($0).measure() },
        Suite(
            name: "discovery",
            about: "two fresh starts on hosts of their own, each with its Avahi, until the first message is across; "
                + "needs root"
        ) { try DiscoveryBench($0).measure() },
        Suite(
            name: "store",
            about: "what an entry costs in bulk, step by step: read with its proof, encoded, decoded, verified, stored"
        ) { try StoreBench($0.scratch).measure(messages: $0.count(100_000), $0.report) },
        Suite(
            name: "database",
            about: "bytes on the disk for a message of 100 bytes, indexes and search included"
        ) { try DatabaseBench($0).measure() },
        Suite(
            name: "newnode",
            about: "a daemon with messages of 50 authors and an empty one, until both are equal; signed together, and "
                + "singly, against what two threads verify"
        ) { try NewNodeBench($0.program, $0.scratch).measure(messages: $0.count(100_000), $0.report) },
        Suite(
            name: "catchup",
            about: "two nodes of which one lacks 10,000 of 1,000,000 messages: bytes and round trips of the machines "
                + "on virtual time, then the time that two daemons take",
            isLong: true
        ) { try CatchUpBench($0.program, $0.scratch).measure(messages: $0.count(1_000_000), $0.report) },
        Suite(
            name: "responsive",
            about: "from a send to its answer while 200,000 messages come from a peer, or end because their channel or "
                + "its past does",
            isLong: true
        ) { try ResponsiveBench($0.program, $0.scratch).measure(messages: $0.count(200_000), $0.report) },
        Suite(
            name: "flood",
            about: "messages between two nodes while a third one sends the receiver as much as it takes: entries with "
                + "wrong signatures, entries that it may write, questions, pings, soft state, handshakes. The limit is "
                + "the same without it, in turns",
            isLong: true
        ) { try FloodBench($0.program, $0.scratch).measure($0.report) },
        Suite(
            name: "scale",
            about: "what a node costs in networks of 10 to 1,000, how a message spreads, and what the death of half of "
                + "them does: the daemon's machines on a simulated network, in virtual time. It takes minutes and "
                + "measures the protocol, not this machine",
            isLong: true, isUsual: false
        ) { try ScaleBench().measure($0.report) },
    ]

    /// What `--rivals` adds.
    static let rivals = Suite(
        name: "rivals", about: "the same work done by programs that a user would pick instead"
    ) { try RivalsBench($0).measure() }
}

/// What a suite is given.
struct Bench {
    /// The starlingd that is measured.
    let program: String
    /// A folder of this run of this suite.
    let scratch: ScratchFolder
    let report: Report
    /// Made once for all suites that need many messages.
    let archives: Archives
    /// Ten times less of everything that takes long.
    let isQuick: Bool
    /// For latency: how long to measure.
    let seconds: Int?
    /// What `--messages` says.
    let messages: Int?

    /// How many messages to fill in where there are usually so many.
    func count(_ usual: Int) -> Int { messages ?? (isQuick ? usual / 10 : usual) }
}
