internal import CommandLineKit
internal import ControlAPI

/// `starling peer`
enum Peer {
    static let command = Command(
        "peer", "Addresses of other nodes, for where they are not found by themselves",
        subcommands: [
            Command(
                "add", "Always try that address", arguments: [address], options: [.json],
                examples: [Example("starling peer add 192.168.7.20:47474", "Connect to a node in another network")]),
            Command(
                "list", "List the nodes that are known and the addresses that were added", options: [.json],
                examples: [Example("starling peer list", "Where everybody is")]),
            Command(
                "remove", "No longer try that address", arguments: [address], options: [.json],
                examples: [Example("starling peer remove 192.168.7.20:47474", "Forget an address")]),
        ], group: "Network", isCallable: false)

    private static let address = Argument("HOST:PORT", "As 192.168.7.20:47474, [fe80::1%eth0]:47474, name.local:47474")

    static func add(_ session: Session) throws {
        let params: JSON = ["address": .string(try session.invocation.required("HOST:PORT"))]
        let answer = try session.call("node.addPeer", params)
        session.print(answer) {
            session.output.line("\(shown(params)) is tried from now on: see starling peer list")
        }
    }

    static func remove(_ session: Session) throws {
        let params: JSON = ["address": .string(try session.invocation.required("HOST:PORT"))]
        let answer = try session.call("node.removePeer", params)
        session.print(answer) { session.output.line("\(shown(params)) is not tried any more") }
    }

    private static func shown(_ params: JSON) -> String {
        Escaper.escape(params["address"]?.string ?? "")
    }

    static func list(_ session: Session) throws {
        let answer = try session.call("node.peers")
        let peers = answer["peers"]?.array ?? []
        let silent = (answer["static"]?.array ?? []).filter { address in !peers.contains { $0["address"] == address } }
        try session.print(rows: peers + silent.map { ["address": $0] }) {
            for line in lines(try peers.map(PeerRow.init(json:)), session.output) { session.output.line(line) }
            for address in silent { session.output.line("\(Escaper.escape(address.string ?? ""))  added by hand") }
            if peers.isEmpty, silent.isEmpty { session.output.line("nobody else was found yet") }
        }
    }

    /// One line a node, aligned.
    static func lines(_ rows: [PeerRow], _ output: Output) -> [String] {
        var names = Names()
        for row in rows where !row.uid.isEmpty { names.set(row.uid, row.name) }
        var table = Table()
        for row in rows {
            table.add(
                .init(row.uid.isEmpty ? "?" : names.shown(row.uid)) { output.name($0, uid: row.uid) },
                .init(Escaper.escape(row.state.rawValue)) { output.styled($0, colour(row.state)) },
                .init(Escaper.escape(row.address)), .init(row.rttMs.map { Words.rounded($0) + " ms" } ?? ""),
                .init(delivery(row)), .init(clock(row)) { output.styled($0, .yellow) })
        }
        return table.lines()
    }

    private static func delivery(_ row: PeerRow) -> String {
        guard let lacks = row.lacks, let ahead = row.ahead else { return "" }
        if lacks == 0, ahead == 0 { return "has the same" }
        return [(lacks, "lacks"), (ahead, "ahead")].filter { $0.0 != 0 }.map { "\($0.1) \($0.0)" }
            .joined(separator: ", ")
    }

    /// Worth a word from two seconds on.
    private static func clock(_ row: PeerRow) -> String {
        guard let skew = row.skewMs, skew.magnitude >= 2_000 else { return "" }
        return "clock \(skew > 0 ? "ahead" : "behind") \(Words.span(Int64(clamping: skew.magnitude)))"
    }

    private static func colour(_ state: PeerRow.State) -> Style.Attribute {
        switch state {
        case .connected: .green
        case .connecting: .yellow
        case .refused: .red
        default: .dim
        }
    }
}
