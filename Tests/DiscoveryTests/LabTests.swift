@testable import Lab
import Testing

/// The lab itself: what the other tests rely on.
@Suite(.serialized, .enabled(if: Lab.unavailableReason == nil, "\(Lab.unavailableReason ?? "")"))
struct LabTests {
    /// Sends words to a host over UDP and says whether one came; a cable that was just plugged in takes up to a second.
    private func reaches(
        _ lab: Lab, _ sender: Int, _ receiver: Int, multicast: Bool = false, attempts: Int = 10
    ) async throws -> Bool {
        let target = multicast ? "239.9.9.9" : lab[receiver].address
        let group = multicast ? ",ip-add-membership=239.9.9.9:eth0" : ""
        let listener = try lab[receiver].spawn(["socat", "-u", "UDP4-RECV:9999\(group)", "-"])
        defer { listener.kill(9) }
        while try await !lab[receiver].run(["ss", "-lun"]).out.contains(":9999") {}
        for _ in 0..<attempts {
            _ = try await lab[sender].run(
                ["socat", "-u", "-", "UDP4-DATAGRAM:\(target):9999,ip-multicast-if=\(lab[sender].address)"],
                input: "word\n")
            if (try? await listener.nextLine(timeout: .milliseconds(200))) != nil {
                return true
            }
        }
        return false
    }

    @Test func hostsHaveTheirOwnNamesAndBusesAndOneNetwork() async throws {
        let lab = try Lab(hosts: 2)
        #expect(try await lab[1].run(["uname", "-n"]).out == "host1\n")
        let address = "/run/dbus/system_bus_socket"
        #expect(try await lab[1].run(["sh", "-c", "echo $DBUS_SYSTEM_BUS_ADDRESS"]).out == "unix:path=\(address)\n")
        #expect(try await lab[1].run(["test", "-S", address]).status == 0)
        #expect(try await reaches(lab, 1, 2))
        #expect(try await reaches(lab, 1, 2, multicast: true))
    }

    @Test func isolationHoldsBothWaysForMulticastToo() async throws {
        let lab = try Lab(hosts: 3, withoutAvahi: [1, 2, 3])
        try lab.isolate(3, 1)
        for multicast in [false, true] {
            #expect(try await !reaches(lab, 1, 3, multicast: multicast, attempts: 2))
            #expect(try await !reaches(lab, 3, 1, multicast: multicast, attempts: 2))
            #expect(try await reaches(lab, 1, 2, multicast: multicast))
            #expect(try await reaches(lab, 3, 2, multicast: multicast))
        }
        try lab.join(1, 3)
        #expect(try await reaches(lab, 1, 3))
    }

    @Test func cutsAndLossStopTrafficUntilTheyEnd() async throws {
        let lab = try Lab(hosts: 2, withoutAvahi: [1, 2])
        try lab.cut(1)
        #expect(try await !reaches(lab, 2, 1, attempts: 2))
        try lab.heal(1)
        #expect(try await reaches(lab, 2, 1))
        try lab.loss(1, percent: 100)
        #expect(try await !reaches(lab, 2, 1, attempts: 2))
        try lab.loss(1, percent: 0)
        #expect(try await reaches(lab, 2, 1))
    }

    @Test func processesSayWhatTheyDo() async throws {
        let process = try LabProcess(["sh", "-c", "read line; echo got $line; echo oops >&2; kill -TERM $$"])
        try process.send(line: "this")
        #expect(try await process.nextLine() == "got this")
        #expect(try await process.errors.nextLine() == "oops")
        #expect(try await process.nextLine() == nil)
        #expect(try await process.wait() == 128 + 15)
        #expect(throws: (any Error).self) {
            try process.send(line: "too late")
        }
    }

    @Test func waitingHasADeadline() async throws {
        let process = try LabProcess(["sleep", "60"])
        await #expect(throws: LabError.self) {
            try await process.nextLine(timeout: .milliseconds(20))
        }
        await #expect(throws: LabError.self) {
            try await process.wait(timeout: .milliseconds(20))
        }
        process.kill(9)
        #expect(try await process.wait() == 128 + 9)
    }

    @Test func nothingIsLeftOfALabThatIsGone() async throws {
        var lab: Lab? = try Lab(hosts: 1)
        let process = try #require(try lab?[1].spawn(["sleep", "60"]))
        lab = nil
        #expect(try await process.wait() == 128 + 9)
    }

    @Test func theNextLabRemovesOneWhoseOwnerCrashed() async throws {
        let prefix = "orphan\(UInt32.random(in: .min ... .max))"
        let crashing = try LabProcess(
            ["bash", "-c", "LAN_PREFIX=\(prefix) LAN_OWNER=$$ bash \(Lab.script) up 1 without 1; kill -9 $$"])
        try await crashing.wait()
        func namespaces() async throws -> String {
            try await LabProcess(["ip", "netns", "list"]).finish().out
        }
        #expect(try await namespaces().contains(prefix))
        _ = try Lab(hosts: 1, withoutAvahi: [1])
        #expect(try await !namespaces().contains(prefix))
    }
}
