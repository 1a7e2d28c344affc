import ControlAPI
import Glibc
import Lab

/// How long two hosts take to be together again after something has happened, in milliseconds.
struct Figures {
    private static let limit = Duration.seconds(300)

    let rounds: Int

    func run() async throws {
        try await measure("two fresh starts → first message", fresh)
        try await measure("address change → connected", addressChange)
        try await measure("cable out for 3 s, plugged in → caught up") { try await cable(outFor: .seconds(3)) }
        try await measure("cable out for 20 s, plugged in → caught up") { try await cable(outFor: .seconds(20)) }
        try await measure("cut nobody is told of, 20 s, healed → caught up", silentCut)
        try await measure("stopped for 5 s, goes on → caught up") { try await stop(for: .seconds(5)) }
        try await measure("stopped for 20 s, goes on → caught up") { try await stop(for: .seconds(20)) }
    }

    private func measure(_ what: String, _ body: () async throws -> Duration) async throws {
        var times: [Int] = []
        for _ in 0..<rounds { times.append(Int(try await body() / .milliseconds(1))) }
        times.sort()
        tell("\(what): median \(times[times.count / 2]) ms, \(times[0]) to \(times[times.count - 1]) ms")
    }

    private func fresh() async throws -> Duration {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (SoakHost(1, of: lab), SoakHost(2, of: lab))
        let begin = ContinuousClock.now
        for host in [ann, bob] { try await host.launch() }
        for host in [ann, bob] { _ = try await host.daemon.nextLine(timeout: Self.limit) }
        _ = try await Bot(ann.host).call("message.send", ["to": "#general", "text": "first"])
        let bot = try await Bot(bob.host)
        _ = try await bot.call("message.observe", ["in": "#general"])
        try await bot.next { $0["params"]?["message"]?["text"] == "first" }
        return ContinuousClock.now - begin
    }

    /// Two hosts that are linked, for long enough that nothing is new any more.
    private func pair() async throws -> (lab: Lab, ann: SoakHost, bob: SoakHost) {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (SoakHost(1, of: lab), SoakHost(2, of: lab))
        for host in [ann, bob] { try await host.start() }
        try await linked(ann, bob) { _ in true }
        await pause(.seconds(12))
        return (lab, ann, bob)
    }

    /// Waits until both are linked, and the first by an address that fits.
    private func linked(_ one: SoakHost, _ other: SoakHost, _ fits: (String) -> Bool) async throws {
        let bots = [try await Bot(one.host), try await Bot(other.host)]
        try await eventually("the two are linked", within: Self.limit) {
            for (index, bot) in bots.enumerated() {
                let rows = try await bot.call("node.peers")["peers"]?.array ?? []
                let isLinked = rows.contains { row in
                    row["state"] == "connected" && (index > 0 || fits(row["address"]?.string ?? ""))
                }
                guard isLinked else { return false }
            }
            return true
        }
    }

    private func addressChange() async throws -> Duration {
        let (lab, ann, bob) = try await pair()
        let change = "ip addr flush dev eth0 && ip addr add 10.99.7.7/16 broadcast + dev eth0"
        let begin = ContinuousClock.now
        _ = try await lab[1].run(["sh", "-c", change])
        // Bob sees where ann is now.
        try await linked(bob, ann) { $0.contains("10.99.7.7") }
        return ContinuousClock.now - begin
    }

    private func cable(outFor duration: Duration) async throws -> Duration {
        let (lab, ann, bob) = try await pair()
        try lab.cut(1)
        await pause(duration)
        _ = try await Bot(bob.host).call("message.send", ["to": "#general", "text": "meanwhile"])
        try lab.heal(1)
        return try await caughtUp(ann)
    }

    private func silentCut() async throws -> Duration {
        let (lab, ann, bob) = try await pair()
        try lab.isolate(1, 2)
        await pause(.seconds(20))
        _ = try await Bot(bob.host).call("message.send", ["to": "#general", "text": "meanwhile"])
        try lab.join(1, 2)
        return try await caughtUp(ann)
    }

    private func stop(for duration: Duration) async throws -> Duration {
        let (_, ann, bob) = try await pair()
        try ann.daemon.kill(SIGSTOP)
        await pause(duration)
        _ = try await Bot(bob.host).call("message.send", ["to": "#general", "text": "meanwhile"])
        try ann.daemon.kill(SIGCONT)
        return try await caughtUp(ann)
    }

    /// Until a host has the message that was said without it.
    private func caughtUp(_ host: SoakHost) async throws -> Duration {
        let begin = ContinuousClock.now
        let bot = try await Bot(host.host)
        _ = try await bot.call("message.observe", ["in": "#general"])
        try await bot.next { $0["params"]?["message"]?["text"] == "meanwhile" }
        return ContinuousClock.now - begin
    }
}
