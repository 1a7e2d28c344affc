import Glibc
import Lab

/// Several hosts with real networks, Avahi and daemons, on one machine; needs root.
///
///     lab-soak 1 20        seed 1, 20 minutes
///     lab-soak 1 2 6       with 6 hosts
///     lab-soak figures 5   how long healing takes, five times each
///     lab-soak calm 50 5   50 hosts to which nothing happens for 5 minutes: is everybody listed, and stays so?
@main
struct Main {
    static let hostsDefault = 12

    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        if let reason = Lab.unavailableReason {
            tell("no lab: \(reason)")
            exit(2)
        }
        if words.first == "figures" {
            try await Figures(rounds: max(words.dropFirst().first.flatMap { Int($0) } ?? 3, 1)).run()
            return
        }
        if words.first == "calm", words.count == 3, let hosts = Int(words[1]), let minutes = Double(words[2]) {
            let flaps = try await Calm(hosts: max(hosts, 2)).run(minutes: minutes)
            exit(flaps == 0 ? 0 : 1)
        }
        let seed = words.first.flatMap { UInt64($0) }
        let minutes = words.dropFirst().first.flatMap { Double($0) }
        let hosts = words.count > 2 ? Int(words[2]) : hostsDefault
        guard let seed, let minutes, let hosts, (2...200).contains(hosts), words.count <= 3 else {
            tell("usage: lab-soak SEED MINUTES [HOSTS] | lab-soak figures [ROUNDS] | lab-soak calm HOSTS MINUTES")
            exit(2)
        }
        var soak = try Soak(seed: seed, minutes: minutes, hosts: hosts)
        let problems = await soak.run()
        for problem in problems { tell("PROBLEM: \(problem)") }
        tell(problems.isEmpty ? "all is well" : "to play it again: make lab-soak SEED=\(seed) MINUTES=\(minutes)")
        exit(problems.isEmpty ? 0 : 1)
    }
}
