import ControlAPI
import Glibc
import Lab
import Testing

/// Machines and networks are broken in one way at a time, and doctor names it and only it.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"), .showsLogs)
struct DoctorLabTests {
    /// Runs a line of shell on a host, which has to succeed.
    private func shell(_ host: LabHost, _ line: String) async throws {
        let result = try await host.run(["sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; \(line)"])
        try #require(result.status == 0, "\(line): \(result.err)")
    }

    /// Waits until a machine has heard of the other one by itself: it may have been found first.
    private func hears(_ machine: Machine) async throws {
        try await eventually("\(machine.name) hears the other", within: .seconds(60)) {
            try await DoctorRun(machine).row("heard")["saw"] == "1 node on eth0"
        }
    }

    private let folder = "$HOME/.local/share/starling"

    /// All at once, each in a lab of its own: they mostly wait.
    @Test(.timeLimit(.minutes(10))) func aFaultIsNamedAndOnlyIt() async throws {
        async let machine: Void = aMachine()
        async let services: Void = servicesOfTheSystem()
        async let network: Void = theNetwork()
        async let others: Void = otherMachines()
        async let apart: Void = apartFromTheStart()
        _ = try await (machine, services, network, others, apart)
    }

    private func aMachine() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        // Room that can be taken away later.
        try await shell(lab[1], "mkdir -p \(folder) && mount -t tmpfs -o mode=0700,size=400m tmpfs \(folder)")
        try await ann.start()
        try await bob.start()
        try await meet(ann, bob)
        try await hears(ann)
        let healthy = try await ann.doctor(names: [])
        #expect(healthy.row("record")["saw"]?.string?.hasSuffix("on eth0") == true)
        #expect(healthy.rows.allSatisfy { $0["level"] == "ok" }, "\(healthy.rows)")

        // Its files.
        try await shell(lab[1], "mount -o remount,size=8m \(folder)")
        try await ann.doctor(names: ["disk"])
        try await shell(lab[1], "mount -o remount,size=400m \(folder)")
        try await shell(lab[1], "chmod 644 \(folder)/identity.key")
        let files = try await ann.doctor(names: ["files"])
        let mend = try #require(files.row("files")["mend"]?[0]?.string)
        try await shell(lab[1], mend)
        try await ann.doctor(names: [])

        // Its interfaces.
        try await shell(lab[1], "ip link add wg0 type veth peer name wg1 && ip link set wg0 up && ip link set wg1 up")
        try await shell(lab[1], "ip addr add 10.99.0.200/24 dev wg0")
        try await ann.doctor(names: ["vpn"])
        try await shell(lab[1], "ip link del wg0")
        try await shell(lab[1], "ip link add docker0 type bridge && ip link set docker0 up")
        try await shell(lab[1], "ip addr add 10.99.0.201/24 dev docker0")
        try await ann.doctor(names: ["vpn"])
        try await shell(lab[1], "ip link del docker0")
        try await shell(lab[1], "ip -4 addr flush dev eth0")
        try await ann.doctor(names: ["families"])
        try await shell(lab[1], "ip addr add 10.99.0.1/16 broadcast + dev eth0")
        try await ann.doctor(names: [])
    }

    private func servicesOfTheSystem() async throws {
        let lab = try Lab(hosts: 2)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try await ann.start()
        try await bob.start()
        try await meet(ann, bob)
        try lab.avahi(1, .kill)
        try await ann.doctor(names: ["avahi"])
        try lab.avahi(1, .start)
        try await ann.doctor(names: [])
        try lab.avahi(1, .stop)
        #expect(try await ann.doctor(names: ["avahi"]).duration < .seconds(10))
        try lab.avahi(1, .cont)
        try lab.dbus(1, .kill)
        try await ann.doctor(names: ["dbus"])
        try lab.dbus(1, .start)
        try await ann.doctor(names: [])

        // Avahi runs and does not publish.
        let conf = "$HOME/../avahi.conf"
        try await shell(lab[1], "sed -i '/^.publish/a disable-user-service-publishing=yes' \(conf)")
        try lab.avahi(1, .kill)
        try lab.avahi(1, .start)
        // For a moment it was not there; then it refuses.
        try await eventually("the refusal is named", within: .seconds(90)) {
            let run = try await DoctorRun(ann)
            return run.named == ["record"]
                && run.row("record")["saw"]?.string?.hasSuffix("Avahi refuses to announce it") == true
        }
        try await shell(lab[1], "sed -i /disable-user/d \(conf)")
        try lab.avahi(1, .kill)
        try lab.avahi(1, .start)
        try await ann.doctor(names: [])

        try ann.daemon.kill(SIGSTOP)
        let hung = try await ann.doctor(names: ["daemon"])
        #expect(hung.duration < .seconds(10))
        try ann.daemon.kill(SIGCONT)
        try await ann.doctor(names: [])
        try await ann.stop()
        let stopped = try await ann.doctor(names: ["daemon"])
        #expect(stopped.row("daemon")["mend"] == ["starling daemon start"])
        // Past the daemon and Avahi: bob has answered.
        #expect(stopped.row("heard")["saw"] == "1 node answers a question to all")
    }

    private func theNetwork() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        // What is sent to all does not arrive; what is sent to one does.
        try lab.filterMulticast()
        try await bob.start()
        try await ann.start()
        try await ann.doctor(names: ["heard"])
        _ = try await ann.row("peer", "add", lab[2].address)
        try await meet(ann, bob)
        let filtered = try await ann.doctor(names: ["multicast"])
        #expect(filtered.row("multicast")["saw"]?.string?.contains("does not pass on") == true)
        // Two that an access point keeps apart, and a router that both reach.
        try lab.isolate(1, 2)
        try await shell(lab[1], "ip route add default via \(lab[3].address)")
        try lab.passMulticast()
        try await eventually("doctor speaks of isolation", within: .seconds(60)) {
            try await DoctorRun(ann).row("multicast")["saw"]?.string?.contains("keeps its clients") == true
        }
        try await ann.doctor(names: ["multicast"])
        try lab.join(1, 2)
        try await ann.doctor(names: [])

        try lab.cut(1)
        try await ann.doctor(names: ["families"])
    }

    /// An access point that keeps its clients apart, where nobody was ever heard: with what can be known then it is a
    /// warning, and a problem when somebody is known who should be there.
    private func apartFromTheStart() async throws {
        let lab = try Lab(hosts: 3, withoutAvahi: [3])
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try lab.isolate(1, 2)
        for host in [1, 2] { try await shell(lab[host], "ip route add default via \(lab[3].address)") }
        try await ann.start()
        try await bob.start()
        let alone = try await ann.doctor(names: ["multicast"])
        let row = alone.row("multicast")
        #expect(row["level"] == "warning", "\(row)")
        #expect(row["saw"]?.string?.hasSuffix("the access point keeps its clients from one another") == true, "\(row)")
        _ = try await ann.row("peer", "add", lab[2].address)
        try await eventually("it is more than a guess", within: .seconds(60)) {
            try await DoctorRun(ann).row("multicast")["level"] == "problem"
        }
        try await ann.doctor(names: ["multicast"])
        try lab.join(1, 2)
        try await ann.doctor(names: [])
    }

    private func otherMachines() async throws {
        let lab = try Lab(hosts: 3)
        let (ann, bob) = (Machine("ann", on: lab[1]), Machine("bob", on: lab[2]))
        try await ann.start()
        try await bob.start()
        try await meet(ann, bob)
        try await hears(bob)
        try lab.mute(1)
        try await ann.doctor(names: ["one-way"])
        // Who is muted is heard and reached, so nothing is wrong for bob.
        try await bob.doctor(names: [])
        try lab.unmute(1)
        try await ann.doctor(names: [])

        // Somebody who answers and is no node of this workspace.
        let other = try lab[3].spawn(["socat", "TCP-LISTEN:47474,reuseaddr,fork", "EXEC:true"])
        _ = try await ann.row("peer", "add", lab[3].address)
        try await ann.doctor(names: ["accepted"])
        _ = try await ann.row("peer", "remove", lab[3].address)
        other.terminate()
        try await ann.doctor(names: [])

        // A firewall at bob's, in both directions.
        let rules = ["input", "output"].map { hook in
            "chain \(hook) { type filter hook \(hook) priority 0; tcp sport 47474 drop; tcp dport 47474 drop; }"
        }
        try await shell(lab[2], "nft 'table inet wall { \(rules.joined(separator: "; ")); }'")
        let walled = try await ann.doctor(names: ["reachable"])
        #expect(walled.row("reachable")["mend"]?[0]?.string == "on that machine: sudo ufw allow 47474/tcp")
        try await shell(lab[2], "nft delete table inet wall")
        try await ann.doctor(names: [])

        // A copied disk.
        let key = "$HOME/../../h1/home/.local/share/starling/identity.key"
        try await shell(lab[3], "mkdir -p \(folder) && chmod 700 \(folder) && cp -p \(key) \(folder)/")
        let twin = Machine("twin", on: lab[3])
        try await twin.start()
        let cloned = try await ann.doctor(names: ["identity"])
        #expect(cloned.row("identity")["mend"] == ["starling identity new"])
    }
}
