import Foundation
import Lab
import Testing

/// The chat in a terminal, with a real daemon.
@Suite(.timeLimit(.minutes(2)))
struct ChatTerminalTests {
    /// A running chat.
    private struct Chat {
        let process: Process
        private let ended: AsyncStream<Void>

        init(_ process: Process) throws {
            let (ended, end) = AsyncStream<Void>.makeStream()
            process.terminationHandler = { _ in end.finish() }
            try process.run()
            self.process = process
            self.ended = ended
        }

        func end() async {
            for await _ in ended {}
        }
    }

    private func chat(_ node: DaemonAndClient, _ terminal: PseudoTerminal) throws -> Chat {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Lab.product("starling"))
        process.arguments = ["--home", node.home]
        process.environment = ["TERM": "xterm", "NO_COLOR": "1", "SWIFT_BACKTRACE": "enable=no"]
        process.standardInput = terminal.program
        process.standardOutput = terminal.program
        process.standardError = terminal.program
        return try Chat(process)
    }

    /// A terminal that can only print lines gets no escape sequences, and no chat.
    @Test(arguments: ["dumb", nil]) func aTerminalThatOnlyPrints(kind: String?) async throws {
        let node = try await DaemonAndClient()
        for (words, expected) in [(["who"], "ada"), ([], "the chat needs a terminal")] {
            let terminal = try PseudoTerminal()
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try Lab.product("starling"))
            process.arguments = ["--home", node.home] + words
            process.environment = kind.map { ["TERM": $0] } ?? [:]
            process.standardInput = terminal.program
            process.standardOutput = terminal.program
            process.standardError = terminal.program
            let command = try Chat(process)
            await command.end()
            let seen = try #require(await terminal.seen(upTo: expected))
            #expect(!seen.contains("\u{1b}"), "\(words)")
            #expect(process.terminationStatus == (words.isEmpty ? 2 : 0))
        }
    }

    @Test func typingSendingAndLeaving() async throws {
        let node = try await DaemonAndClient()
        let terminal = try PseudoTerminal()
        #expect(terminal.isCooked)
        let chat = try chat(node, terminal)
        #expect(await terminal.shows("you are ada"))
        #expect(await terminal.shows("/nick NAME changes your name"))
        #expect(await terminal.shows("#general › "))
        #expect(!terminal.isCooked)
        terminal.type("hallo w")
        #expect(await terminal.shows("#general › hallo w"))
        terminal.type("örld\r")
        #expect(await terminal.shows("ada │ hallo wörld"))
        terminal.type("\u{1b}[200~one\ntwo\u{1b}[201~\r")
        #expect(await terminal.shows("│ one\r\n"))
        #expect(await terminal.shows("│ two\r\n"))
        let read = try await node.run("read", "general", "--json")
        #expect(read.out.contains("hallo wörld") && read.out.contains("one\\ntwo"))
        _ = try await node.run("send", "general", "from outside")
        #expect(await terminal.shows("ada │ from outside"))
        terminal.type("/topic Something\r")
        #expect(await terminal.shows("the topic is: Something"))
        terminal.type("/nick Ada\r")
        #expect(await terminal.shows("you are Ada now"))
        terminal.type("/join #lnch\r")
        #expect(await terminal.shows("there is no #lnch; /create lnch opens it"))
        #expect(try await !node.run("channels").out.contains("#lnch"))
        terminal.type("/create #lunch\r")
        #expect(await terminal.shows("#lunch › "))
        terminal.type("/join #generl\r")
        #expect(await terminal.shows("did you mean #general?"))
        terminal.type("/join #general\r")
        #expect(await terminal.shows("#general › "))
        terminal.type("/join #lunch\r")
        #expect(await terminal.shows("#lunch › "))
        terminal.type("/quit\r")
        await chat.end()
        #expect(chat.process.terminationStatus == 0 && chat.process.terminationReason == .exit)
        #expect(terminal.isCooked)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGSEGV, SIGILL])
    func aSignalPutsTheTerminalBack(_ signal: Int32) async throws {
        let node = try await DaemonAndClient()
        let terminal = try PseudoTerminal()
        let chat = try chat(node, terminal)
        #expect(await terminal.shows("#general › "))
        #expect(!terminal.isCooked)
        kill(chat.process.processIdentifier, signal)
        await chat.end()
        #expect(chat.process.terminationReason == .uncaughtSignal && chat.process.terminationStatus == signal)
        #expect(terminal.isCooked)
    }

    @Test func aDaemonThatGoesAndComesBack() async throws {
        let node = try await DaemonAndClient()
        let terminal = try PseudoTerminal()
        let chat = try chat(node, terminal)
        #expect(await terminal.shows("#general › "))
        #expect(try await node.run("daemon", "stop").status == 0)
        #expect(await terminal.shows("no connection to the daemon, trying again…"))
        #expect(await terminal.shows("starling --home"))
        // Typing is no reason to complain.
        terminal.type("ke")
        #expect(await terminal.seen(upTo: "#general › ke")?.contains("not connected") == false)
        terminal.type("pt\r")
        #expect(await terminal.shows("not connected to the daemon"))
        #expect(await terminal.shows("#general › kept"))
        let again = try await node.run("daemon", "start", "--", "--no-discovery", "--listen", "127.0.0.1:0")
        #expect(again.status == 0, "\(again.err)")
        #expect(await terminal.shows("connected again"))
        terminal.type("\r")
        #expect(await terminal.shows("ada │ kept"))
        terminal.type("\u{4}")
        await chat.end()
        #expect(chat.process.terminationStatus == 0 && terminal.isCooked)
        #expect(try await node.run("daemon", "stop").status == 0)
    }

    /// A command in another shell takes the daemon to another workspace: the chat says so and goes on there.
    @Test func theDaemonComesBackInAnotherWorkspace() async throws {
        let node = try await DaemonAndClient()
        let terminal = try PseudoTerminal()
        let chat = try chat(node, terminal)
        #expect(await terminal.shows("#general › "))
        #expect(try await node.run("workspace", "create", "team").status == 0)
        #expect(await terminal.shows("workspace team · you are ada"))
        #expect(await terminal.shows("#general › "))
        terminal.type("among us\r")
        #expect(await terminal.shows("ada │ among us"))
        terminal.type("/create #inside\r")
        #expect(await terminal.shows("#inside › "))
        #expect(try await node.run("workspace", "leave").status == 0)
        #expect(await terminal.shows("workspace open, which anybody on the network can read · you are ada"))
        #expect(await terminal.shows("#general › "))
        terminal.type("for anybody\r")
        #expect(await terminal.shows("ada │ for anybody"))
        #expect(try await node.run("read", "general", "--json").out.contains("for anybody"))
        terminal.type("/quit\r")
        await chat.end()
        #expect(chat.process.terminationStatus == 0 && terminal.isCooked)
    }
}
