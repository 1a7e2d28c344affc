internal import CLimit
internal import ControlAPI
internal import Glibc

/// Bytes on the disk for a message, after the daemon has ended and so left nothing in the write-ahead log.
struct DatabaseBench {
    private static let messages = 1_000_000
    private static let ownMessages = 100_000
    private static let textBytes = 100
    /// Requests under way at once.
    private static let window = 500
    private static let aimBytes = 400.0
    /// How long the search index may take.
    private static let patienceMs: Int64 = 120_000

    private let bench: Bench

    init(_ bench: Bench) { self.bench = bench }

    func measure() throws {
        let report = bench.report
        report.heading("the database, a message (limit: its text)")
        let own = bench.count(Self.ownMessages)
        add("own", "sent by a client of this node", own, try written(own))

        let count = bench.count(Self.messages)
        let home = bench.scratch.path + "/archive"
        try bench.archives.prepare(bench.program, home: home, count)
        add("together", "of 50 authors, signed together", count, try Self.bytes(home))
    }

    private func add(_ key: String, _ name: String, _ count: Int, _ bytes: Int) {
        bench.report.add(
            Figure(
                key: "database.\(key)", name: "\(Report.decimal(Double(count), 0)), \(name)",
                value: Double(bytes) / Double(count), unit: .bytes, limit: Double(Self.textBytes),
                aim: .atMost(Self.aimBytes)))
    }

    private static func bytes(_ home: String) throws(BenchError) -> Int {
        try ProcFile.names(home).filter { $0.contains(".db") }.reduce(0) { $0 + ProcFile.size("\(home)/\($1)") }
    }

    /// What a daemon makes of messages that its own client sends, once they can be searched.
    private func written(_ count: Int) throws -> Int {
        let home = bench.scratch.path + "/own"
        let daemon = try DaemonUnderTest(bench.program, home: home, port: DaemonUnderTest.freePort(), peer: nil)
        defer { daemon.end() }
        let client = try daemon.client()
        for first in stride(from: 0, to: count, by: Self.window) {
            try Interruption.check()
            var lines: [UInt8] = []
            let numbers = first..<min(count, first + Self.window)
            for number in numbers {
                let text = Self.text(number, "n\(number)")
                lines += client.request("message.send", ["to": "#general", "text": .string(text)])
            }
            try client.write(lines)
            for _ in numbers { _ = try LineClient.result(try client.line()) }
        }
        try waitForSearch(client, "n\(count - 1)")
        daemon.end()
        return try Self.bytes(home)
    }

    /// Words as people use them, so that the search index has something to do.
    private static func text(_ number: Int, _ first: String) -> String {
        let words = ["meeting", "lunch", "the", "printer", "is", "on", "again", "with", "paper", "who", "has", "it"]
        var text = first
        var state = UInt64(number) &* 2_654_435_761
        while text.utf8.count < textBytes {
            text += " " + words[Int(state >> 33) % words.count]
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        }
        return String(text.prefix(textBytes))
    }

    private func waitForSearch(_ client: LineClient, _ word: String) throws {
        let start = limit_now_ns()
        while true {
            let began = limit_now_ns()
            let found = try client.call("message.search", ["text": .string(word), "limit": 1])["messages"]?.array ?? []
            // A search that the index does not know enough for goes through all messages, and takes longer.
            if !found.isEmpty, limit_now_ns() - began < 5_000_000 { return }
            guard limit_now_ns() - start < Self.patienceMs * 1_000_000 else {
                throw BenchError.unexpected("the search index does not follow")
            }
            try Interruption.sleep(ms: 500)
        }
    }
}
