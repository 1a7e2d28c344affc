internal import CLimit
internal import CommandLineKit
internal import Glibc

/// The command line of the measurements.
enum BenchProgram {
    private static let runs = 3
    /// Of the core's own work, before each run.
    private static let coreMs: Int32 = 100

    private static let details: [String] = {
        var lines = [
            "Every run begins with the limits: the floor of one chat message from client to client, made of nothing "
                + "but the system calls, the commits and the cryptography that it cannot do without, and the rates of "
                + "one core. Figures of another run or machine cannot be compared without them.",
            "Each suite is run several times, each time with daemons and files of its own. A row has the median of the "
                + "runs, the least and the greatest, what the limit took in the same run, and how many times the limit "
                + "it takes (of rates: how many times it would go into the limit). \"was\" is the ratio that was "
                + "recorded with this version. At the end it says which figures moved beyond noise: by more than a "
                + "tenth (one run: a quarter) and by more than the recorded runs, or these, lie apart.",
        ]
        for suite in Suite.all { lines.append("\(suite.name): \(suite.about).") }
        lines.append("Daemons run on loopback, in a folder below TMPDIR that is removed at the end.")
        return lines
    }()

    static let program = Program(
        root: Command(
            "starling-bench", "Measures daemons on this machine beside what the machine can do at most",
            details: details,
            arguments: [
                Argument("SUITE", "What to measure; several may be named, none means all but scale", count: .rest)
            ],
            options: [
                Option("json", "Print one JSON object a line for each figure"),
                Option("runs", value: "N", "Run each suite so often (default: 3, of long ones 1)"),
                Option("rivals", "Measure also what a user would pick instead, as far as it is installed"),
                Option("quick", "Once, and a tenth of everything that takes long; nothing is compared"),
                Option("seconds", value: "N", "Measure latency for this long (default: until 2,000 messages)"),
                Option("messages", value: "N", "Messages to fill in, instead of the million or 100,000 of a suite"),
                Option("daemon", value: "FILE", "The starlingd to measure (default: the one beside this program)"),
                Option("record", value: "FILE", "Write the ratios, to compare later versions with"),
                Option("check", "Exit with 1 if a figure misses its aim"),
            ],
            examples: [
                Example("starling-bench", "All of it, in half an hour"),
                Example("starling-bench --quick", "A look at all of it, in some minutes"),
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

    private static func suites(_ invocation: Invocation) throws -> [Suite] {
        let named = invocation.rest("SUITE")
        for word in named where !Suite.all.contains(where: { $0.name == word }) {
            let words = Suite.all.map { $0.name }.joined(separator: ", ")
            throw invocation.usageError("there is no suite \(word): \(words)")
        }
        let chosen = Suite.all.filter { named.isEmpty ? $0.isUsual : named.contains($0.name) }
        return invocation.has("rivals") ? chosen + [Suite.rivals] : chosen
    }

    private static func measure(_ invocation: Invocation) throws -> Int32 {
        let suites = try suites(invocation)
        let isQuick = invocation.has("quick")
        let seconds = try invocation.integer("seconds", in: 1...3600)
        let messages = try invocation.integer("messages", in: 1000...10_000_000)
        let runs = try invocation.integer("runs", in: 1...100)
        let program = try DaemonUnderTest.program(invocation.value("daemon"))
        // Less work is other work: its ratios are not those that were recorded.
        let recorded = isQuick || messages != nil ? Recorded() : try Recorded.ofThisProgram()
        let report = Report(isJSON: invocation.has("json"), recorded: recorded)
        try Interruption.route()
        let top = try ScratchFolder()
        defer { top.remove() }
        let archives = Archives(in: top)

        try Limits.measure(in: top, report)
        report.flush()
        var haveAllWorked = true
        for suite in suites {
            do {
                for number in 1...(runs ?? (isQuick || suite.isLong ? 1 : Self.runs)) {
                    Terminal.progress("\(suite.name), run \(number)")
                    defer { Terminal.progress("") }
                    try Interruption.check()
                    let scratch = try ScratchFolder(in: top)
                    defer { scratch.remove() }
                    report.coreNs = try coreNs(scratch)
                    try suite.measure(
                        Bench(
                            program: program, scratch: scratch, report: report, archives: archives, isQuick: isQuick,
                            seconds: seconds, messages: messages))
                }
            } catch BenchError.interrupted {
                throw BenchError.interrupted
            } catch {
                Terminal.complain("\(suite.name): \(error)")
                haveAllWorked = false
            }
            // Also of a suite that failed later on, and at once: the next ones may take long.
            report.flush()
            if let path = invocation.value("record") { try report.record(to: path) }
        }
        report.tellMoves()
        return haveAllWorked && (report.areAimsMet || !invocation.has("check")) ? 0 : 1
    }

    /// What figures without a limit of their own are held against.
    private static func coreNs(_ scratch: ScratchFolder) throws(BenchError) -> Double {
        let rate = unsafe limit_rate(LIMIT_HASH, coreMs, scratch.path)
        guard rate > 0 else { throw .unexpected("the core's own work cannot be measured") }
        return 1e9 / rate
    }
}
