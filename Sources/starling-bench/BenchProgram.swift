internal import CommandLineKit
internal import Glibc

/// The command line of the measurements.
enum BenchProgram {
    /// What can be measured, in the order of the report.
    enum Part: String, CaseIterable {
        case latency, memory, start, observe, query, store, newnode, catchup, responsive, scale
        case latency, memory, start, observe, query, store, newnode, catchup, flood, scale
    }

    static let program = Program(
        root: Command(
            "starling-bench", "Measures two daemons on this machine beside what the machine can do at most",
            details: [
                "Every run begins with the limits: the floor of one chat message from client to client, made of "
                    + "nothing but the system calls, the commits and the cryptography that it cannot do without, and "
                    + "the rates of one core. Figures of another run or machine cannot be compared without them.",
                "latency: from a client's send to the event at a client of the other node, and to the answer, one "
                    + "message at a time and in bursts; in turns with the limit, so that noise hits both alike.",
                "memory: an idle daemon with an empty workspace, and with 100,000 messages.",
                "start: from exec to \"ready\", and two fresh daemons until the first message is across.",
                "observe: events to 1, 10 and 100 observers of one path, over one connection and over several; from a "
                    + "write to the event at another client of the same node; the memory that an observer costs. The "
                    + "limit commits each write and sends each client its events in one piece.",
                "query: windows of channels of 10³ to 10⁶ messages, each against the smallest, in turns. "
                    + "Filling the largest takes most of the time; --messages takes a smaller one.",
                "store: what an entry costs in bulk, step by step: read with its proof, encoded, decoded, verified, "
                    + "stored.",
                "newnode: a daemon with messages of 50 authors and an empty one, until both are equal; signed "
                    + "together, and singly, against what two threads verify. --messages takes more of them.",
                "catchup: two nodes of which one lacks 10,000 of 1,000,000 messages: bytes and round trips of the "
                    + "machines on virtual time, then the time that two daemons take. Filling the databases takes "
                    + "most of the time; --messages takes smaller ones.",
                "responsive: from a send to its answer while 200,000 messages come from a peer, or end because their "
                    + "channel or its past does. --messages takes more of them.",
                "flood: messages between two nodes while a third one sends the receiver as much as it takes: entries "
                    + "with wrong signatures, entries that it may write, questions, pings, soft state, handshakes. The "
                    + "limit is the same without it, in turns.",
                "scale: what a node costs in networks of 10 to 1,000, how a message spreads, and what the death of "
                    + "half of them does: the daemon's machines on a simulated network, in virtual time. It "
                    + "takes minutes "
                    + "and measures the protocol, not this machine.",
                "Daemons run on loopback, in a folder below TMPDIR that is removed at the end.",
            ],
            arguments: [
                Argument(
                    "PART",
                    "latency, memory, start, observe, query, store, newnode, catchup, responsive or scale; several "
                        + "may be named, none means all but scale",
                    "latency, memory, start, observe, query, store, newnode, catchup, flood or scale; several may be "
                        + "named, none means all but scale",
                    count: .rest)
            ],
            options: [
                Option("seconds", value: "N", "Measure latency for this long (default: until 2,000 messages)"),
                Option(
                    "messages", value: "N",
                    "Messages that query and catchup fill in (default: 1000000); of store and newnode (100000), of "
                        + "responsive (200000)"),
                Option("daemon", value: "FILE", "The starlingd to measure (default: the one beside this program)"),
                Option("json", "Print one JSON object a line for each figure"),
                Option("check", "Exit with 1 if a figure misses its aim"),
            ],
            examples: [
                Example("starling-bench", "All of it, in some minutes"),
                Example("starling-bench latency --seconds 30", "Latency alone, for longer"),
                Example("starling-bench start --json --check", "For a script"),
            ]),
        version: "0.1.0",
        exitCodes: [
            ExitCode(0, "measured"), ExitCode(1, "could not measure; with --check: an aim was missed"),
            ExitCode(2, "the command line was not understood"), ExitCode(130, "interrupted"),
        ],
        environment: [("TMPDIR", "where the daemons keep their files meanwhile (default: /tmp)")])

    static func run(_ words: [String]) -> Int32 {
        do {
            switch try Parser(program).parse(words) {
            case .help(let path): Terminal.write(Help(program).text(path))
            case .version: Terminal.write("starling-bench \(program.version)\n")
            case .run(let invocation): return try measure(invocation)
            }
            return 0
        } catch let error as UsageError {
            Terminal.complain("\(error)\nTry: starling-bench --help")
            return 2
        } catch BenchError.interrupted {
            return 130
        } catch {
            Terminal.complain("\(error)")
            return 1
        }
    }

    private static func measure(_ invocation: Invocation) throws -> Int32 {
        var parts: Set<Part> = []
        for word in invocation.rest("PART") {
            guard let part = Part(rawValue: word) else {
                let words = Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw invocation.usageError("there is no figure \(word): \(words)")
            }
            parts.insert(part)
        }
        if parts.isEmpty { parts = Set(Part.allCases.filter { $0 != .scale }) }
        let seconds = try invocation.integer("seconds", in: 1...3600)
        let messages = try invocation.integer("messages", in: 1000...10_000_000)
        if parts == [.scale] {
            try Interruption.route()
            let report = Report(isJSON: invocation.has("json"))
            try ScaleBench().measure(report)
            return invocation.has("check") && !report.areAimsMet ? 1 : 0
        }
        let program = try DaemonUnderTest.program(invocation.value("daemon"))
        let report = Report(isJSON: invocation.has("json"))
        try Interruption.route()
        let scratch = try ScratchFolder()
        defer { scratch.remove() }

        try Limits.measure(in: scratch, report)
        for part in Part.allCases where parts.contains(part) {
            switch part {
            case .latency: try LatencyBench(program, scratch).measure(seconds: seconds, report)
            case .memory: try MemoryBench(program, scratch).measure(report)
            case .start: try StartBench(program, scratch).measure(report)
            case .observe: try ObserveBench(program, scratch).measure(report)
            case .scale: try ScaleBench().measure(report)
            case .query: try QueryBench(program, scratch).measure(messages: messages, report)
            case .store: try StoreBench(scratch).measure(messages: messages, report)
            case .newnode: try NewNodeBench(program, scratch).measure(messages: messages, report)
            case .responsive: try ResponsiveBench(program, scratch).measure(messages: messages, report)
            case .flood: try FloodBench(program, scratch).measure(report)
            case .catchup: try CatchUpBench(program, scratch).measure(messages: messages, report)
            }
        }
        return invocation.has("check") && !report.areAimsMet ? 1 : 0
    }
}
