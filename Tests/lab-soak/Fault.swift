import Glibc
import Lab

/// Something that happens to a host and ends by itself or is mended.
enum Fault: Equatable {
    case cut, mute, loss(percent: Int), isolate(from: Int)
    case hangAvahi, killAvahi, killBus
    case newAddress(network: Int), suspend
    /// The daemon is killed, and started again with a clock that is so much ahead.
    case kill(skewS: Int)

    var word: String {
        switch self {
        case .cut: "cut"
        case .mute: "mute"
        case .loss(let percent): "loss of \(percent) %"
        case .isolate(let other): "isolated from \(other)"
        case .hangAvahi: "Avahi hangs"
        case .killAvahi: "Avahi killed"
        case .killBus: "D-Bus killed"
        case .newAddress(let network): "address 10.99.\(network).x"
        case .suspend: "suspended"
        case .kill(let skewS): skewS == 0 ? "killed" : "killed, clock \(skewS) s ahead from now on"
        }
    }

    /// Draws one. Clocks of others than `mayLie` stay right, so that most of them are.
    static func draw(_ random: inout SoakRandom, host: Int, hosts: Int, mayLie: Bool) -> Fault {
        switch random.next(in: 0...11) {
        case 0, 1: return .cut
        case 2: return .mute
        case 3: return .loss(percent: random.next(in: 5...40))
        case 4:
            let other = random.next(in: 1...max(hosts, 2))
            return other == host ? .cut : .isolate(from: other)
        case 5: return .hangAvahi
        case 6: return .killAvahi
        case 7: return .killBus
        case 8, 9: return .newAddress(network: random.next(in: 1...200))
        case 10: return .suspend
        default:
            let isSkewed = mayLie && random.next(in: 0...1) == 1
            return .kill(skewS: isSkewed ? random.next(in: -3_600...3_600) : 0)
        }
    }

    func begin(_ lab: Lab, _ host: SoakHost) async throws {
        let number = host.number
        switch self {
        case .cut: try lab.cut(number)
        case .mute: try lab.mute(number)
        case .loss(let percent): try lab.loss(number, percent: percent)
        case .isolate(let other): try lab.isolate(number, other)
        case .hangAvahi: try lab.avahi(number, .stop)
        case .killAvahi: try lab.avahi(number, .kill)
        case .killBus: try lab.dbus(number, .kill)
        case .newAddress(let network):
            let change =
                "ip -4 addr flush dev eth0 && ip addr add 10.99.\(network).\(number)/16 broadcast + dev eth0"
            let result = try await lab[number].run(["sh", "-c", change], timeout: Bot.limit)
            guard result.status == 0 else { throw LabError("no new address: \(result.err)") }
        case .suspend: try host.daemon.kill(SIGSTOP)
        case .kill: try await host.kill()
        }
    }

    func end(_ lab: Lab, _ host: SoakHost) async throws {
        let number = host.number
        switch self {
        case .cut: try lab.heal(number)
        case .mute: try lab.unmute(number)
        case .loss: try lab.loss(number, percent: 0)
        case .isolate(let other): try lab.join(number, other)
        case .hangAvahi: try lab.avahi(number, .cont)
        case .killAvahi: try lab.avahi(number, .start)
        case .killBus: try lab.dbus(number, .start)
        case .newAddress: break
        case .suspend: try host.daemon.kill(SIGCONT)
        case .kill(let skewS): try await host.start(skewS: skewS)
        }
    }
}
