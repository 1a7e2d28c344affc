internal import CLimit
internal import ControlAPI

/// Searching many messages, and the end of a channel that was not read before.
struct SearchBench {
    private static let messages = 1_000_000
    private static let page: Int64 = 50
    private static let rounds = 40
    private static let searchMs = 20.0

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        let count = bench.count(Self.messages)
        let daemon = try bench.archives.daemon(
            bench.program, home: bench.scratch.path + "/search", port: DaemonUnderTest.freePort(), count)
        defer { daemon.end() }
        let client = try daemon.client()
        bench.report.heading("a search in \(Report.decimal(Double(count), 0)) messages (limit: a round trip)")
        // Each word occurs in one message, each number of an author in a fiftieth of them, the last in all of them.
        let kinds: [(key: String, name: String, text: @Sendable (Int) -> String)] = [
            ("one", "a word of one message", { "\(1 + $0 * (count / Self.rounds))" }),
            ("some", "two words, a fiftieth of all", { "number \(1 + $0 % MessageArchive.authors)" }),
            ("all", "a word of every message", { _ in "many" }),
            ("none", "a word of none", { "absent\($0)" }),
        ]
        for kind in kinds { try measure(client, kind.key, kind.name, kind.text) }
    }

    private func measure(
        _ client: LineClient, _ key: String, _ name: String, _ text: (Int) -> String
    ) throws {
        var times = Samples()
        var bytes = 0
        for round in 0..<Self.rounds {
            try Interruption.check()
            let request = client.request("message.search", ["text": .string(text(round)), "limit": .int(Self.page)])
            let start = limit_now_ns()
            try client.write(request)
            let answer = try client.line()
            times.add(ns: limit_now_ns() - start)
            _ = try LineClient.result(answer)
            bytes = max(bytes, answer.count)
        }
        let fan = try LimitFan(in: bench.scratch, commits: false, connections: 1, observers: 1, eventBytes: bytes + 1)
        var limit = Samples()
        for _ in 0..<Self.rounds { limit.add(ns: try fan.send(1)) }
        for percent in [50, 99] {
            bench.report.add(
                Figure(
                    key: "query.search.\(key).p\(percent)", name: "\(name), p\(percent)", value: times.us(percent),
                    unit: .microseconds, limit: limit.us(percent), aim: .atMost(Self.searchMs * 1000)))
        }
    }
}
