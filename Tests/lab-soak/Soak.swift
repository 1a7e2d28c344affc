import ControlAPI
import Lab

/// Hosts on which people chat while everything goes wrong; then all is mended, and nothing may be wrong any more.
///
/// Nothing here depends on how fast the machine is: what must come about has so much time that only what never comes
/// fails.
struct Soak {
    /// What has to come about has come about by then.
    static let limit = Duration.seconds(600)
    /// Growth that is none: links that are being replaced, a look-up of a name, pages of SQLite's cache, and what a
    /// node remembers of each message.
    static let moreDescriptors = 16
    static let moreThreads = 8
    static let moreKB = 32 * 1024
    static let moreKBPerMessage = 2

    private struct Active {
        let fault: Fault
        let host: SoakHost
        let untilMs: Int
    }

    let seed: UInt64
    let minutes: Double
    private let lab: Lab
    private let hosts: [SoakHost]
    private var random: SoakRandom
    private var active: [Active] = []
    private var counts: [String: Int] = [:]
    private let begin = ContinuousClock.now
    private var saidMs = 0

    init(seed: UInt64, minutes: Double, hosts count: Int) throws {
        self.seed = seed
        self.minutes = minutes
        random = SoakRandom(seed: seed)
        let lab = try Lab(hosts: count)
        self.lab = lab
        hosts = (1...count).map { SoakHost($0, of: lab) }
    }

    private var nowMs: Int { Int((ContinuousClock.now - begin) / .milliseconds(1)) }

    private func say(_ text: String) { tell("\(nowMs / 1_000) s  \(text)") }

    // MARK: The course of it

    /// Returns what is wrong at the end; nothing if all is well.
    mutating func run() async -> [String] {
        defer { lab.down() }
        var problems: [String]
        do {
            problems = try await course()
        } catch {
            problems = ["\(error)"]
        }
        for host in hosts where (try? host.daemon.isRunning) != true {
            problems.append("\(host.name)'s daemon has ended")
        }
        if !problems.isEmpty { for host in hosts { tell(host.lastLines) } }
        return problems
    }

    private mutating func course() async throws -> [String] {
        // One clock is wrong from the beginning, whatever is drawn.
        let skewS = random.next(in: -3_600...3_600)
        for host in hosts { try await host.start(skewS: host.number == 1 ? skewS : 0) }
        try await Self.waitUntil("everybody is linked to everybody") { try await areLinked() }
        say("\(hosts.count) hosts are linked")
        await pause(.seconds(5))
        var before = SoakHost.Use()
        for host in hosts { before.formMaximum(try host.use()) }

        let end = ContinuousClock.now + .seconds(minutes * 60)
        let seed = seed
        let chats = hosts.map { host in
            Task { try await host.chat(until: end, seed: seed &+ UInt64(host.number)) }
        }
        while ContinuousClock.now < end { try await step() }
        try await mend(until: .max)
        say("mended: \(counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))")
        var problems: [String] = []
        for (host, chat) in zip(hosts, chats) {
            do {
                try await chat.value
            } catch {
                problems.append("\(host.name)'s bot: \(error)")
            }
        }
        return problems + (try await judge(before))
    }

    /// Mends what is due, and now and then breaks something.
    private mutating func step() async throws {
        try await mend(until: nowMs)
        if nowMs - saidMs > 10_000 {
            saidMs = nowMs
            say("\(hosts.reduce(0) { $0 + $1.answered.count }) messages, \(active.count) faults")
        }
        await pause(.milliseconds(random.next(in: 200...1_500)))
        // Drawn in any case, so that the course does not depend on what was possible.
        let host = hosts[random.next(in: 1...hosts.count) - 1]
        let fault = Fault.draw(&random, host: host.number, hosts: hosts.count, mayLie: host.number * 3 <= hosts.count)
        let forMs = random.next(in: 500...20_000)
        guard active.count * 3 < hosts.count, !active.contains(where: { $0.host === host }) else { return }
        do {
            try await fault.begin(lab, host)
        } catch let error as LabError {
            // What it is done to may just be starting again.
            say("\(host.name) could not be \(fault.word): \(error)")
        }
        counts["\(fault.word.prefix { !$0.isNumber })", default: 0] += 1
        active.append(Active(fault: fault, host: host, untilMs: nowMs + forMs))
    }

    private mutating func mend(until dueMs: Int) async throws {
        for item in active where item.untilMs <= dueMs {
            try await eventually("\(item.host.name), \(item.fault.word): mended", within: Self.limit) {
                do {
                    try await item.fault.end(lab, item.host)
                } catch let error as LabError {
                    // A daemon that does not start is what is looked for; an Avahi may just be starting.
                    if case .kill = item.fault { throw error }
                    return false
                }
                return true
            }
        }
        active.removeAll { $0.untilMs <= dueMs }
    }

    // MARK: The end

    /// Looks twice a second: twelve hosts are many questions, and they have other things to do.
    private static func waitUntil(_ what: String, _ condition: () async throws -> Bool) async throws {
        try await eventually(what, within: limit) {
            if try await condition() { return true }
            await pause(.milliseconds(500))
            return false
        }
    }

    private func status(_ host: SoakHost) async throws -> JSON { try await Bot(host.host).call("node.status") }

    private func areLinked() async throws -> Bool {
        for host in hosts {
            let peers = try await status(host)["peers"]?.array ?? []
            let linked = Set(peers.filter { $0["state"] == "connected" }.compactMap { $0["uid"]?.string })
            guard linked.count == hosts.count - 1 else { return false }
        }
        return true
    }

    private func judge(_ before: SoakHost.Use) async throws -> [String] {
        var problems: [String] = []
        func check(_ what: String, _ condition: () async throws -> Bool) async throws {
            let begin = nowMs
            do {
                try await Self.waitUntil(what, condition)
                say("\(what): after \(nowMs - begin) ms")
            } catch let error as LabError {
                problems.append(error.description)
            }
        }
        try await check("all are linked to all") { try await areLinked() }
        try await check("all roots are equal") {
            var roots: Set<String> = []
            for host in hosts { roots.insert(try await status(host)["root"]?.string ?? "") }
            return roots.count == 1
        }
        try await check("everybody is listed once, and online") {
            for host in hosts {
                let people = try await Bot(host.host).call("people.list")["people"]?.array ?? []
                let names = people.filter { $0["state"] != "offline" }.compactMap { $0["name"]?.string }.sorted()
                guard names == hosts.map(\.name).sorted(), people.count == hosts.count else { return false }
            }
            return true
        }
        problems += try await judgeMessages()
        let messages = hosts.reduce(0) { $0 + $1.answered.count }
        var last = SoakHost.Use()
        try await check("no more descriptors, threads or memory") {
            last = SoakHost.Use()
            for host in hosts { last.formMaximum(try host.use()) }
            return last.descriptors <= before.descriptors + Self.moreDescriptors
                && last.threads <= before.threads + Self.moreThreads
                && last.residentKB <= before.residentKB + Self.moreKB + messages * Self.moreKBPerMessage
        }
        say("\(messages) messages; before \(before); after \(last)")
        return problems
    }

    private func judgeMessages() async throws -> [String] {
        var problems: [String] = []
        var first: [(key: String, text: String)]?
        for host in hosts {
            let messages = try await host.messages()
            if Set(messages.map(\.key)).count != messages.count { problems.append("\(host.name) shows a key twice") }
            if Set(messages.map(\.text)).count != messages.count { problems.append("\(host.name) shows a text twice") }
            if let first, !first.elementsEqual(messages, by: { $0 == $1 }) {
                problems.append("\(host.name) shows other messages than \(hosts[0].name), or in another order")
            }
            first = first ?? messages
        }
        let shown = Dictionary((first ?? []).map { ($0.key, $0.text) }) { one, _ in one }
        for host in hosts {
            let missing = host.answered.filter { shown[$0.value] != $0.key }
            if !missing.isEmpty {
                problems.append("missing of \(host.name): \(missing.keys.sorted().prefix(10)), \(missing.count) in all")
            }
        }
        return problems
    }
}
