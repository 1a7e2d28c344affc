internal import CommandLineKit
internal import Glibc
internal import Net
internal import Node

/// The daemon's command line.
enum DaemonProgram {
    static let program = Program(
        root: Command(
            "starlingd", "Replicates the workspace with the nodes of this network and serves local clients",
            details: [
                "Runs in the foreground, says \"ready\" on standard output once clients can attach, logs to standard "
                    + "error, and ends on TERM. Started without options it finds its peers by itself.",
                "The chat starts it by itself; so does: starling daemon start",
            ],
            options: [
                Option("home", value: "DIR", "Keep everything below DIR instead of the XDG folders"),
                Option("name", value: "NAME", "Take this display name (at first start: the login name)"),
                Option(
                    "listen", value: "ADDR:PORT",
                    "Where peers connect (default [::]:47474, or a free port that is remembered)"),
                Option("peer", value: "HOST:PORT", "Connect to this node, whatever mDNS finds", isRepeated: true),
                Option("no-discovery", "Neither announce this node by mDNS nor look for others"),
                Option(
                    "interface", value: "NAME",
                    "Look for peers on this interface only (default: all but docker*, br-*, veth*, virbr*, cni*)",
                    isRepeated: true),
                Option(
                    "workspace", value: "NAME|INVITE",
                    "An invite that a home without a private workspace takes, or the workspace it has to be in"),
                Option("log", value: "LEVEL", "Least level that is logged: debug, info, warning, error"),
            ],
            examples: [
                Example("starlingd", "Run with the defaults"),
                Example("starlingd --no-discovery --peer 192.168.1.7:47474", "Where multicast is blocked"),
            ]),
        version: Node.version,
        exitCodes: [
            ExitCode(0, "ended as asked"), ExitCode(1, "could not start or go on"),
            ExitCode(2, "the command line was not understood"),
        ],
        environment: [("STARLING_HOME", "like --home")])

    static func run(_ words: () throws -> [String]) -> Int32 {
        do {
            switch try Parser(program).parse(words()) {
            case .help(let path): write(Help(program).text(path), STDOUT_FILENO)
            case .version: write("starlingd \(Node.version)\n", STDOUT_FILENO)
            case .run(let invocation): return Daemon.run(try options(invocation))
            }
            return 0
        } catch let error as UsageError {
            // On one line: whoever started it in the background is told the last line of the log.
            write("starlingd: \(error); see starlingd --help\n", STDERR_FILENO)
            return 2
        } catch {
            write("starlingd: \(error)\n", STDERR_FILENO)
            return 1
        }
    }

    private static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    private static func options(_ invocation: Invocation) throws -> NodeOptions {
        guard invocation.value("home") != "" else { throw invocation.usageError("--home is empty: give a directory") }
        let directory = invocation.value("home") ?? environment("STARLING_HOME")
        var options = NodeOptions(home: try NodeHome(directory: directory, environment: environment))
        options.name = invocation.value("name")
        if let text = invocation.value("listen") {
            guard let address = SocketAddress(text) else {
                throw invocation.usageError("--listen takes an address and a port, like [::]:47474 or 10.0.0.5:47474")
            }
            options.listen = address
        }
        for text in invocation.values("peer") {
            guard let peer = HostPort(text, defaultPort: NodeOptions.portDefault) else {
                throw invocation.usageError("--peer takes HOST:PORT, like 192.168.1.7:47474")
            }
            options.peers.append(peer)
        }
        options.usesDiscovery = !invocation.has("no-discovery")
        options.interfaces.names = invocation.values("interface")
        if let word = invocation.value("workspace") {
            if word.hasPrefix(Invite.scheme) {
                options.invite = try Invite(link: word)
            } else {
                options.workspaceName = word
            }
        }
        if let text = invocation.value("log") {
            guard let level = Log.Level(rawValue: text) else {
                throw invocation.usageError("--log takes debug, info, warning or error")
            }
            options.log = Log(level: level)
        }
        return options
    }

    private static func write(_ text: String, _ descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
