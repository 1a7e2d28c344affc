internal import CLimit
internal import ControlAPI

/// What observers of one path cost: events a second, and memory.
struct ObserveBench {
    private static let observers = [1, 10, 100]
    /// Connections that many observers are dealt out to.
    private static let connectionsMax = 50
    /// Events of one burst, about: enough to take some milliseconds.
    private static let burstEvents = 2000
    private static let runs = 15
    /// What a chat on screen follows.
    private static let window: Int64 = 50
    /// Observers of one kind whose memory is looked at: as many as one client may have, nearly.
    private static let residents = 1000

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    func measure(_ report: Report) throws {
        let daemon = try start("observe")
        defer { daemon.end() }
        report.heading("observers of one path (limit: commits, sends)")
        for count in Self.observers {
            for connections in Set([1, min(count, Self.connectionsMax)]).sorted() {
                try measureFan(daemon, count, connections, report)
            }
        }
        daemon.end()
        try measureMemory(report)
    }

    private func start(_ name: String) throws -> DaemonUnderTest {
        try DaemonUnderTest(program, home: scratch.path + "/" + name, port: DaemonUnderTest.freePort(), peer: nil)
    }

    // MARK: A place that is observed

    /// What is written: about a message.
    private static let value: JSON = [
        "senderId": "bench", "senderName": "bench", "text": .string(String(repeating: "x", count: 100)),
        "createdAt": 1_793_491_200_000,
    ]

    static func push(_ writer: LineClient, _ place: String) -> [UInt8] {
        writer.request("tree.push", ["path": .string(place), "value": value])
    }

    /// Fills a place with as many children as a window takes; the events' windows are full from the beginning.
    static func fill(_ writer: LineClient, _ place: String) throws(BenchError) {
        for _ in 0..<window {
            try writer.write(push(writer, place))
            _ = try LineClient.result(try writer.line())
        }
    }

    /// Observes the last children of a place; returns when all of them have been told.
    static func observe(
        _ client: LineClient, _ place: String, query: JSON, children: Int64
    ) throws(BenchError) {
        try client.call("tree.observe", ["path": .string(place), "events": ["child_added"], "query": query])
        for _ in 0..<children { _ = try client.line() }
    }

    static func lastChildren(_ count: Int64) -> JSON { ["orderBy": "$key", "limitToLast": .int(count)] }

    // MARK: Events a second

    private func measureFan(
        _ daemon: DaemonUnderTest, _ observers: Int, _ connections: Int, _ report: Report
    ) throws {
        let place = "apps/bench/fan-\(observers)-\(connections)"
        let writer = try daemon.client()
        try Self.fill(writer, place)
        var readers: [LineClient] = []
        for _ in 0..<connections { readers.append(try daemon.client()) }
        for number in 0..<observers {
            try Self.observe(
                readers[number % connections], place, query: Self.lastChildren(Self.window), children: Self.window)
        }
        let share = observers / connections
        try writer.write(Self.push(writer, place))
        let eventBytes = try readers[0].line().count + 1
        for _ in 1..<share { _ = try readers[0].line() }
        try LineClient.skip(share, at: Array(readers.dropFirst()))
        _ = try LineClient.result(try writer.line())

        let fan = try LimitFan(
            in: scratch, commits: true, connections: connections, observers: observers, eventBytes: eventBytes)
        let writes = max(20, Self.burstEvents / observers)
        var (times, limits) = (Samples(), Samples())
        for run in 0...Self.runs {
            try Interruption.check()
            let limit = try fan.send(writes)
            var lines: [UInt8] = []
            for _ in 0..<writes { lines += Self.push(writer, place) }
            let start = limit_now_ns()
            try writer.write(lines)
            try LineClient.skip(share * writes, at: readers)
            let elapsed = limit_now_ns() - start
            for _ in 0..<writes { _ = try LineClient.result(try writer.line()) }
            guard run > 0 else { continue }
            times.add(ns: elapsed)
            limits.add(ns: limit)
        }
        let rates = times.rates(of: writes * observers)
        let over = connections == 1 ? "one connection" : "\(connections) connections"
        report.add(
            Figure(
                key: "observe.events.\(observers).\(connections)",
                name: "events, \(observers) \(observers == 1 ? "observer" : "observers"), \(over)",
                value: rates.median, unit: .perSecond, limit: limits.rates(of: writes * observers).median,
                range: rates.range))
    }

    // MARK: Memory

    private func measureMemory(_ report: Report) throws {
        report.heading("memory of an observer (limit: its JSON)")
        for (key, children) in [("small", Int64(1)), ("window", Self.window)] {
            for isShared in [true, false] {
                let daemon = try start("observers-\(key)-\(isShared)")
                defer { daemon.end() }
                let (writer, reader) = (try daemon.client(), try daemon.client())
                let place = "apps/bench/resident"
                try Self.fill(writer, place)
                // What was written last the daemon may have in memory anyway; old messages it has not.
                for _ in 0..<2 { try Self.fill(writer, place + "-later") }
                let window = try writer.call(
                    "tree.get", ["path": .string(place), "query": Self.lastChildren(children)])
                // What the first one costs once is not counted.
                try Self.observe(reader, place, query: Self.lastChildren(children), children: children)
                let before = try memory(daemon)
                for number in 0..<Self.residents {
                    var query = Self.lastChildren(children)
                    if !isShared {
                        // A bound below all keys: the same window, of another query.
                        query = ["orderBy": "$key", "limitToLast": .int(children), "startAt": .string("-0\(number)")]
                    }
                    try Self.observe(reader, place, query: query, children: children)
                }
                let kilobytes = (try memory(daemon) - before) * 1024 / Double(Self.residents)
                let what = children == 1 ? "1 child" : "\(children) messages"
                report.add(
                    Figure(
                        key: "observe.memory.\(key).\(isShared ? "alike" : "different")",
                        name: "window of \(what), \(isShared ? "all alike" : "each another query")",
                        value: kilobytes, unit: .kilobytes,
                        limit: Double(window["value"]?.serialized.count ?? 0) / 1024))
            }
        }
    }

    private func memory(_ daemon: DaemonUnderTest) throws(BenchError) -> Double {
        try ProcFile.megabytes("VmRSS", "/proc/\(daemon.process)/status")
    }
}
