import ControlAPI
import Foundation
import Glibc
import Lab
import Synchronization

/// A host of the soak: its daemon, and what its bot has said and been answered.
final class SoakHost: Sendable {
    let number: Int
    let host: LabHost
    /// The lab goes when nobody refers to it any more.
    private let lab: Lab
    var name: String { "host\(number)" }

    private struct State {
        var daemon: LabProcess?
        var said = 0
        /// Keys by text, of what the daemon has answered.
        var answered: [String: String] = [:]
        /// Of the daemons that were killed: their logs.
        var logs: [LineStream] = []
    }

    private let state = Mutex(State())

    init(_ number: Int, of lab: Lab) {
        self.number = number
        self.lab = lab
        host = lab[number]
    }

    // MARK: The daemon

    var daemon: LabProcess {
        get throws {
            guard let daemon = state.withLock({ $0.daemon }) else { throw LabError("\(name) has no daemon") }
            return daemon
        }
    }

    /// Starts the daemon, whose clock is so much ahead, and returns when clients can attach.
    func start(skewS: Int = 0, arguments: [String] = []) async throws {
        try await launch(skewS: skewS, arguments: arguments)
        guard try await daemon.nextLine(timeout: Bot.limit) == "ready" else {
            throw LabError("\(name) is not ready: \(try daemon.errors.text)")
        }
    }

    /// Starts it and does not wait.
    func launch(skewS: Int = 0, arguments: [String] = []) async throws {
        var environment: [String: String] = [:]
        if skewS != 0 { environment = ["LD_PRELOAD": try Self.skewLibrary.get(), "SKEW_S": "\(skewS)"] }
        let words = [try Lab.product("starlingd"), "--name", name] + arguments
        let daemon = try host.spawn(words, environment: environment)
        state.withLock { state in
            state.logs.append(daemon.errors)
            state.daemon = daemon
        }
    }

    func kill() async throws {
        try daemon.kill(SIGKILL)
        try await daemon.wait(timeout: Bot.limit)
    }

    /// What makes a daemon's clock wrong.
    private static let skewLibrary = Result {
        let path = try Lab.product("lab-soak") + "-skew.so"
        try Lab.makeSkewLibrary(at: path)
        return path
    }

    /// The last lines that its daemons have logged.
    var lastLines: String {
        let lines = state.withLock { $0.logs }.flatMap { $0.text.split(separator: "\n").suffix(60) }.suffix(60)
        return "log of \(name):\n" + lines.map { "  \($0)\n" }.joined()
    }

    // MARK: What it takes

    struct Use {
        var descriptors = 0
        var threads = 0
        var residentKB = 0

        mutating func formMaximum(_ other: Use) {
            descriptors = max(descriptors, other.descriptors)
            threads = max(threads, other.threads)
            residentKB = max(residentKB, other.residentKB)
        }
    }

    /// What the daemon uses now (proc(5)).
    func use() throws -> Use {
        let folder = "/proc/\(try daemon.id)"
        let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return Use(
            descriptors: try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").count,
            threads: number("Threads"), residentKB: number("VmRSS"))
    }

    // MARK: The bot

    /// Says things until then; whatever happens to the daemon, it goes on as soon as that is there again.
    ///
    /// - Throws: what is no consequence of a daemon's end.
    func chat(until end: ContinuousClock.Instant, seed: UInt64) async throws {
        var random = SoakRandom(seed: seed)
        while ContinuousClock.now < end {
            do {
                let bot = try await Bot(host)
                while ContinuousClock.now < end {
                    try await say(bot)
                    await pause(.milliseconds(random.next(in: 200...1_500)))
                }
            } catch let error as LabError {
                // Silence of a daemon that runs is no end of a connection.
                if try daemon.isRunning, error.description.contains("no line within") { throw error }
            } catch is Bot.Gone {}
            await pause(.milliseconds(200))
        }
    }

    private func say(_ bot: Bot) async throws {
        let number = state.withLock { state in
            state.said += 1
            return state.said
        }
        let text = "\(name)/\(number)"
        let answer = try await bot.call("message.send", ["to": "#general", "text": .string(text)])
        guard let key = answer["key"]?.string else { throw LabError("no key in \(answer)") }
        state.withLock { $0.answered[text] = key }
    }

    var answered: [String: String] { state.withLock { $0.answered } }

    /// Keys and texts of #general, oldest first.
    func messages() async throws -> [(key: String, text: String)] {
        let bot = try await Bot(host)
        var result: [(key: String, text: String)] = []
        var before: JSON?
        while true {
            var params: JSON = ["in": "#general", "limitToLast": 1_000]
            if let before { params = ["in": "#general", "limitToLast": 1_000, "before": before] }
            let rows = try await bot.call("message.list", params)["messages"]?.array ?? []
            let page = rows.compactMap { row -> (key: String, text: String)? in
                guard let key = row["key"]?.string, let text = row["text"]?.string else { return nil }
                return (key, text)
            }
            guard let first = page.first else { return result }
            result = page + result
            before = .string(first.key)
        }
    }
}
