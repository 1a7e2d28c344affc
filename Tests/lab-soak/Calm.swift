import ControlAPI
import Lab

/// Many hosts to which nothing happens: all are to be listed everywhere, and nobody is to be called offline meanwhile.
struct Calm {
    private let lab: Lab
    private let hosts: [SoakHost]

    init(hosts count: Int) throws {
        let lab = try Lab(hosts: count)
        self.lab = lab
        hosts = (1...count).map { SoakHost($0, of: lab) }
    }

    /// Returns how often somebody was called offline.
    func run(minutes: Double) async throws -> Int {
        defer { lab.down() }
        let begin = ContinuousClock.now
        for host in hosts { try await host.start() }
        tell("\(hosts.count) daemons after \(ContinuousClock.now - begin)")
        let started = ContinuousClock.now
        let count = hosts.count
        // All at once: to ask one after the other takes longer than what is to be measured.
        let lists = hosts.map { host in Task { try await Self.listed(count, on: host) } }
        var times: [Duration] = []
        for list in lists { times.append(try await list.value - started) }
        times.sort()
        tell(
            "everybody is listed after the last start on the first host after \(times[0]), on half of them after "
                + "\(times[count / 2]), everywhere after \(times[count - 1])")
        let end = ContinuousClock.now + .seconds(minutes * 60)
        let watches = hosts.map { host in Task { try await Self.watch(host, until: end) } }
        await pause(.seconds(minutes * 60))
        var flaps = 0
        for watch in watches { flaps += try await watch.value }
        tell("somebody was called offline \(flaps) times in \(minutes) minutes")
        return flaps
    }

    /// When a host lists so many people as present.
    private static func listed(_ count: Int, on host: SoakHost) async throws -> ContinuousClock.Instant {
        let bot = try await Bot(host.host)
        let end = ContinuousClock.now + Soak.limit
        while ContinuousClock.now < end {
            let people = try await bot.call("people.list")["people"]?.array ?? []
            if people.count(where: { $0["state"] != "offline" }) == count { return .now }
            await pause(.milliseconds(250))
        }
        throw LabError("\(host.name) does not list everybody within \(Soak.limit)")
    }

    /// Counts what a host's list says of people who go.
    private static func watch(_ host: SoakHost, until end: ContinuousClock.Instant) async throws -> Int {
        let bot = try await Bot(host.host)
        _ = try await bot.call("people.observe")
        var flaps = 0
        // Presence that is renewed is no event, so the end is asked for.
        while ContinuousClock.now < end {
            await pause(.seconds(1))
            _ = try await bot.call("node.peers") { row in
                if row["params"]?["person"]?["state"] == "offline" { flaps += 1 }
            }
        }
        return flaps
    }
}
