import ControlAPI
import ControlClient
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ControlClientTests {
    private static func answer(_ id: Int, _ result: String) -> ScriptedServer.Step {
        .send(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"# + "\n")
    }

    private static func event(_ number: Int) -> ScriptedServer.Step {
        .send(
            #"{"jsonrpc":"2.0","method":"event","params":{"subscription":7,"event":"message","n":\#(number)}}"# + "\n")
    }

    @Test func callsAndKeepsEventsThatComeBetween() throws {
        let server = try ScriptedServer([
            .send(ScriptedServer.hello), .receiveLine, Self.event(1),
            .send("{\"jsonrpc\":\"2.0\",\"method\":\"later\"}\n"),
            Self.answer(1, #"{"key":"k"}"#), Self.event(2), .receiveEnd,
        ])
        do {
            let client = try ControlClient(path: server.path)
            #expect(client.hello.workspace == "lan" && client.hello.uid == "u" && client.hello.version == "0.1")
            let result = try client.call("message.send", ["to": "#general", "text": "hi"])
            #expect(result["key"] == "k")
            let first = try client.nextEvent(timeoutMs: 5_000)
            #expect(first?.params["n"] == 1 && first?.name == "message" && first?.subscription == 7)
            #expect(try client.nextEvent(timeoutMs: 5_000)?.params["n"] == 2)
            #expect(try client.nextEvent(timeoutMs: 0) == nil)
        }
        let sent = server.lines()
        let expected = [
            ##"{"jsonrpc":"2.0","id":1,"method":"message.send","params":{"to":"#general","text":"hi"}}"##
        ]
        #expect(sent == expected)
    }

    @Test func pipelinedAnswersMayComeInAnyOrder() throws {
        let server = try ScriptedServer([
            .send(ScriptedServer.hello), .receiveLine, .receiveLine, .receiveLine, Self.answer(3, "3"),
            Self.answer(1, "1"),
            Self.answer(99, "99"),
            .send(#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no","data":{"reason":"quota"}}}"# + "\n"),
        ])
        let client = try ControlClient(path: server.path)
        let ids = try (0..<3).map { try client.send("m\($0)") }
        #expect(try client.answer(to: ids[0]) == 1)
        let refusal = ClientError.refused(RPCError(reason: .quota, message: "no"))
        #expect(throws: refusal) { try client.answer(to: ids[1]) }
        #expect(try client.answer(to: ids[2]) == 3)
    }

    /// Both sides have more to say than the socket's buffers hold: a client that wrote without reading would hang.
    @Test func aDaemonThatWritesBeforeItReadsIsNoDeadlock() throws {
        let line =
            #"{"jsonrpc":"2.0","method":"event","params":{"x":"\#(String(repeating: "y", count: 1_000))"}}"# + "\n"
        let server = try ScriptedServer([
            .send(ScriptedServer.hello), .receiveLine, .flood(line, 600), .receiveLine, Self.answer(2, "true"),
            .receiveEnd,
        ])
        let client = try ControlClient(path: server.path)
        _ = try client.send("tree.observe")
        let long = try client.call("tree.set", ["value": .string(String(repeating: "z", count: 1_000_000))])
        #expect(long == true)
        for _ in 0..<600 { #expect(try client.nextEvent(timeoutMs: 5_000) != nil) }
    }

    @Test func slowDaemonsTimeOut() throws {
        let silent = try ScriptedServer([.receiveEnd])
        #expect(throws: ClientError.timedOut(doing: "the daemon does not say hello")) {
            try ControlClient(path: silent.path, timeoutMs: 20)
        }
        let lazy = try ScriptedServer([.send(ScriptedServer.hello), .receiveLine, .receiveEnd])
        let client = try ControlClient(path: lazy.path)
        #expect(throws: ClientError.timedOut(doing: "the daemon does not answer")) {
            try client.call("node.status", timeoutMs: 20)
        }
    }

    @Test func anAnswerGivenUpOnIsDropped() throws {
        let server = try ScriptedServer([
            .send(ScriptedServer.hello), .receiveLine, .receiveLine, Self.answer(1, "1"), Self.answer(2, "2"),
        ])
        let client = try ControlClient(path: server.path)
        #expect(throws: ClientError.self) { try client.call("slow", timeoutMs: 1) }
        #expect(try client.call("quick") == 2)
    }

    @Test func aClosedConnectionIsTold() throws {
        let early = try ScriptedServer([])
        #expect(throws: ClientError.closed(nil)) { try ControlClient(path: early.path) }
        let cut = try ScriptedServer([.send(ScriptedServer.hello), Self.event(1), .receiveLine, .send("{\"jsonr")])
        let client = try ControlClient(path: cut.path)
        #expect(throws: ClientError.closed(nil)) { try client.call("m") }
        #expect(try client.nextEvent(timeoutMs: nil)?.params["n"] == 1, "what came before the end is not lost")
        #expect(throws: ClientError.closed(nil)) { try client.nextEvent(timeoutMs: nil) }
    }

    @Test func lastWordsAreHeard() throws {
        let words =
            #"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"you do not read","data":{"reason":"busy"}}}"#
        let server = try ScriptedServer([.send(ScriptedServer.hello), .send(words + "\n")])
        let client = try ControlClient(path: server.path)
        #expect(throws: ClientError.closed("you do not read")) { try client.nextEvent(timeoutMs: nil) }
        let full = try ScriptedServer([.send(words + "\n")])
        #expect(throws: ClientError.refused(RPCError(reason: .busy, message: "you do not read"))) {
            try ControlClient(path: full.path)
        }
    }

    static let nonsense: [String] = [
        "HTTP/1.1 400 Bad Request\n", "\n", "{}\n", #"{"jsonrpc":"2.0","id":1,"result":1}"# + "\n",
        #"{"jsonrpc":"2.0","method":"hello","params":{}}"# + "\n",
        #"{"jsonrpc":"2.0","method":"hello","params":{"version":"9","api":2,"workspace":"w","uid":"u"}}"# + "\n",
    ]

    @Test(arguments: nonsense)
    func otherProgramsAreToldApart(_ line: String) throws {
        let server = try ScriptedServer([.send(line), .receiveEnd])
        let error = #expect(throws: ClientError.self) { try ControlClient(path: server.path) }
        guard case .protocolViolation = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func overlongLinesEndTheConnection() throws {
        let chunk = String(repeating: "x", count: 1 << 20)
        let server = try ScriptedServer([.send(ScriptedServer.hello), .flood(chunk, 5), .receiveEnd])
        let client = try ControlClient(path: server.path)
        let error = #expect(throws: ClientError.self) { try client.nextEvent(timeoutMs: nil) }
        #expect(error?.description.contains("longer than 4194304 bytes") == true)
    }

    @Test func anOverlongRequestIsNotSent() throws {
        let server = try ScriptedServer([.send(ScriptedServer.hello), .receiveLine, Self.answer(2, "1"), .receiveEnd])
        let client = try ControlClient(path: server.path)
        let error = #expect(throws: ClientError.self) {
            try client.call("m", ["text": .string(String(repeating: "x", count: LineSplitter.lineMax))])
        }
        guard case .refused(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.reason == .tooLarge)
        #expect(try client.call("n") == 1)
    }

    @Test func nobodyListening() throws {
        let directory = try TemporaryDirectory()
        let surroundings = SocketPlaces.Surroundings(
            environment: [:], passwordHome: "/nonexistent", userID: 1, currentDirectory: "/")
        let places = try SocketPlaces(home: directory.path, surroundings)
        let missing = ClientError.noDaemon(tried: places.sockets, start: places.startCommand)
        #expect(throws: missing) { try ControlClient.connect(places) }
        // A stale socket: the file is there, and nobody behind it.
        _ = try directory.file("starling.sock", "")
        #expect(throws: missing) { try ControlClient.connect(places) }
        #expect(missing.exitCode == 3)
        #expect(missing.description.hasSuffix("start it with: starling --home \(directory.path) daemon start"))
    }

    @Test func theSecondPlaceIsTried() throws {
        let server = try ScriptedServer([.send(ScriptedServer.hello), .receiveEnd])
        let home = server.directory.path
        try FileManager.default.createDirectory(
            atPath: home + "/.local/state/starling", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: home + "/.local/state/starling/starling.sock", withDestinationPath: server.path)
        let surroundings = SocketPlaces.Surroundings(
            environment: ["HOME": home, "XDG_RUNTIME_DIR": home + "/none"], passwordHome: nil, userID: 1,
            currentDirectory: "/")
        let client = try ControlClient.connect(SocketPlaces(home: nil, surroundings))
        #expect(client.hello.api == Hello.api)
    }

    @Test func exitCodes() {
        let codes: [(RPCError.Reason, Int32)] = [
            (.notFound, 4), (.ambiguousName, 4), (.permissionDenied, 5), (.offline, 1), (.diskFull, 1),
            (.invalidParams, 1),
        ]
        for (reason, code) in codes {
            #expect(ClientError.refused(RPCError(reason: reason, message: "")).exitCode == code)
        }
        #expect(ClientError.closed(nil).exitCode == 1)
    }
}
