internal import CLimit
internal import ControlAPI
internal import Glibc

/// What windows of channels cost, small and large: what a query returns is to count, not what it leaves out.
struct QueryBench {
    private static let sizes = [1000, 10_000, 100_000, 1_000_000]
    private static let window: Int64 = 50
    /// Rounds of all queries of all channels.
    private static let rounds = 40
    /// A query that takes longer than this for one channel is not asked of a larger one.
    private static let patienceMs = 1000.0
    private static let windowUs = 2000.0
    /// Messages in one write, and writes under way at once.
    private static let batch = 4000
    private static let batchesUnderWay = 2
    private static let textBytes = 100

    private let program: String
    private let scratch: ScratchFolder

    init(_ program: String, _ scratch: ScratchFolder) {
        self.program = program
        self.scratch = scratch
    }

    private struct Kind: Sendable {
        let key: String
        let name: String
        let params: @Sendable (_ place: JSON, _ size: Int) -> JSON
        /// What it returns, and so what it costs, grows with the channel.
        var isOfAll = false
    }

    private static let kinds = [
        Kind(key: "last", name: "last 50 by key") { place, _ in
            ["path": place, "query": ["orderBy": "$key", "limitToLast": .int(window)]]
        },
        Kind(key: "page", name: "50 before the middle one") { place, size in
            [
                "path": place,
                "query": ["orderBy": "$key", "limitToLast": .int(window), "endBefore": .string(key(size / 2))],
            ]
        },
        Kind(key: "keys", name: "last 50, shallow") { place, _ in
            ["path": place, "shallow": true, "query": ["orderBy": "$key", "limitToLast": .int(window)]]
        },
        Kind(key: "child", name: "last 50 by createdAt") { place, _ in
            ["path": place, "query": ["orderBy": "createdAt", "limitToLast": .int(window)]]
        },
        Kind(
            key: "shallow", name: "all keys", params: { place, _ in ["path": place, "shallow": true] }, isOfAll: true),
    ]

    // MARK: Channels

    /// Push IDs of Firebase clients rise by time and then by their tail, of which the last places count here.
    private static func key(_ number: Int) -> String {
        let alphabet = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
        var tail: [UInt8] = []
        var rest = number
        for _ in 0..<6 {
            tail.append(alphabet[rest & 63])
            rest >>= 6
        }
        return "-KmLvuZfWAmvic" + String(decoding: tail.reversed(), as: UTF8.self)
    }

    /// A place of an app, not of the chat: the search index would follow for minutes.
    private static func place(_ size: Int) -> String { "apps/bench/channels/\(size)/messages" }

    private static func batchLine(_ client: LineClient, _ numbers: Range<Int>, of size: Int) -> [UInt8] {
        let text = String(repeating: "x", count: textBytes)
        var values = JSONObject()
        for number in numbers {
            // By time in another order than by key, as messages of several clocks are.
            let createdAt = 1_793_491_200_000 + Int64(number) * 1000 + Int64(number &* 7919 % 60_000)
            values.append(
                key(number),
                [
                    "senderId": "bench", "senderName": "bench", "text": .string("\(number) \(text)"),
                    "createdAt": .int(createdAt),
                ])
        }
        return client.request("tree.update", ["path": .string(place(size)), "values": .object(values)])
    }

    /// Returns messages a second.
    private func fill(_ client: LineClient, _ size: Int) throws(BenchError) -> Double {
        let start = limit_now_ns()
        var underWay = 0
        for first in stride(from: 0, to: size, by: Self.batch) {
            try Interruption.check()
            if underWay == Self.batchesUnderWay {
                _ = try LineClient.result(try client.line())
                underWay -= 1
            }
            try client.write(Self.batchLine(client, first..<min(size, first + Self.batch), of: size))
            underWay += 1
        }
        for _ in 0..<underWay { _ = try LineClient.result(try client.line()) }
        return Double(size) * 1e9 / Double(limit_now_ns() - start)
    }

    // MARK: Queries

    /// - Parameter messages: of the largest channel; nil for the largest there is.
    func measure(messages: Int?, _ report: Report, _ bench: Bench) throws {
        try windows(messages: messages, report)
        try SearchBench(bench).measure()
    }

    private func windows(messages: Int?, _ report: Report) throws {
        let daemon = try DaemonUnderTest(
            program, home: scratch.path + "/query", port: DaemonUnderTest.freePort(), peer: nil)
        defer { daemon.end() }
        let client = try daemon.client()
        let most = messages ?? Self.sizes.last ?? 0
        let sizes = Self.sizes.filter { $0 < most } + [most]
        report.heading("windows of channels (limit: that of 1,000)")
        var rate = 0.0
        for size in sizes { rate = try fill(client, size) }
        report.add(Figure(key: "query.fill", name: "messages written, 4,000 an update", value: rate, unit: .perSecond))
        for kind in Self.kinds { try measure(kind, sizes, daemon, client, report) }
    }

    private func measure(
        _ kind: Kind, _ sizes: [Int], _ daemon: DaemonUnderTest, _ client: LineClient, _ report: Report
    ) throws {
        var sizes = sizes
        var times: [Int: Samples] = [:]
        // The first round finds out what can be asked at all, and warms up.
        var bytes = 0
        for (index, size) in sizes.enumerated() {
            let (ns, answer) = try ask(client, kind, size)
            if index == 0 { bytes = answer.count }
            let isRefused = try isRefused(answer)
            guard isRefused || Double(ns) / 1e6 > Self.patienceMs else { continue }
            sizes = Array(sizes.prefix(isRefused ? index : index + 1))
            break
        }
        let fan = try LimitFan(in: scratch, commits: false, connections: 1, observers: 1, eventBytes: bytes + 1)
        var limit = Samples()
        let rounds = kind.isOfAll ? Self.rounds / 4 : Self.rounds
        for _ in 0..<rounds {
            try Interruption.check()
            limit.add(ns: try fan.send(1))
            for size in sizes {
                // What is slow is not asked as often.
                let spent = times[size, default: Samples()].ns.reduce(0, +)
                guard Double(spent) / 1e6 < 4 * Self.patienceMs else { continue }
                times[size, default: Samples()].add(ns: try ask(client, kind, size).ns)
            }
        }
        let smallest = sizes.first.flatMap { times[$0] }
        for size in sizes { tell(kind, size, times[size, default: Samples()], smallest, limit, report) }
        if let size = sizes.last { try tellMemory(kind, size, daemon, client, report) }
    }

    private func tell(
        _ kind: Kind, _ size: Int, _ times: Samples, _ smallest: Samples?, _ limit: Samples, _ report: Report
    ) {
        let isSmallest = size == Self.sizes[0]
        for percent in [50, 99] {
            report.add(
                Figure(
                    key: "query.\(kind.key).\(size).p\(percent)",
                    name: "\(kind.name), of \(Report.decimal(Double(size), 0)), p\(percent)",
                    value: times.us(percent), unit: .microseconds,
                    limit: isSmallest ? limit.us(percent) : smallest?.us(percent),
                    aim: percent == 50 && !kind.isOfAll ? .atMost(Self.windowUs) : nil,
                    range: times.us(0)...times.us(100)))
        }
    }

    private func ask(_ client: LineClient, _ kind: Kind, _ size: Int) throws -> (ns: Int64, answer: [UInt8]) {
        let request = client.request("tree.get", kind.params(.string(Self.place(size)), size))
        let start = limit_now_ns()
        try client.write(request)
        let answer = try client.line()
        return (limit_now_ns() - start, answer)
    }

    /// Whether an answer says that it would be too large; any other error is one.
    private func isRefused(_ answer: [UInt8]) throws(BenchError) -> Bool {
        guard case .error(_, let error) = try LineClient.answer(answer) else { return false }
        guard error.reason == .tooLarge else { throw .unexpected("the daemon refused: \(error)") }
        return true
    }

    // MARK: Memory

    /// How much more the daemon held at the height of a query than before it (proc(5), clear_refs).
    private func tellMemory(
        _ kind: Kind, _ size: Int, _ daemon: DaemonUnderTest, _ client: LineClient, _ report: Report
    ) throws {
        let status = "/proc/\(daemon.process)/status"
        try ProcFile.write("5", "/proc/\(daemon.process)/clear_refs")
        let before = try ProcFile.megabytes("VmRSS", status)
        _ = try ask(client, kind, size)
        let after = try ProcFile.megabytes("VmHWM", status)
        report.add(
            Figure(
                key: "query.\(kind.key).\(size).peak",
                name: "\(kind.name), of \(Report.decimal(Double(size), 0)), memory",
                value: max(0, after - before) * 1024, unit: .kilobytes))
    }
}
