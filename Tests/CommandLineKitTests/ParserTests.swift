import CommandLineKit
import Testing

struct ParserTests {
    private static let autoID = "-OabcdefghijklmnopqrsT"
    private static let pushID = "-----abcdefghijklmno"
    private static let uid = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcde"

    private func run(_ words: String...) throws -> Invocation {
        guard case .run(let invocation) = try Parser(sample).parse(words) else { throw NotRun() }
        return invocation
    }

    private struct NotRun: Error {}

    @Test func programAlone() throws {
        let invocation = try run("--home", "/x")
        #expect(invocation.path == [])
        #expect(invocation.value("home") == "/x")
    }

    @Test func helpAndVersionAsWords() throws {
        let parser = Parser(sample)
        #expect(try parser.parse(["help"]) == .help([]))
        #expect(try parser.parse(["help", "tree", "get"]) == .help(["tree", "get"]))
        #expect(try parser.parse(["help", "send", "--help"]) == .help(["send"]))
        #expect(try parser.parse(["version"]) == .version)
        let unknown = #expect(throws: UsageError.self) { try parser.parse(["help", "raed"]) }
        #expect(unknown?.message == "bird has no command raed; did you mean read?")
        #expect(throws: UsageError.self) { try parser.parse(["version", "now"]) }
        #expect(try run("send", "help", "version").argument("TO") == "help")
        // A table may have its own.
        let own = Program(root: Command("x", "X", subcommands: [Command("help", "Call for help")]), version: "1")
        guard case .run(let invocation) = try Parser(own).parse(["help"]) else { throw NotRun() }
        #expect(invocation.path == ["help"])
    }

    @Test func optionsAndWordsMix() throws {
        let invocation = try run("--home=/x", "send", "--json", "#all", "hello", "-r", "K", "world")
        #expect(invocation.path == ["send"])
        #expect(invocation.argument("TO") == "#all")
        #expect(invocation.rest("TEXT") == ["hello", "world"])
        #expect(invocation.has("json") && !invocation.has("reply-to") == false)
        #expect(invocation.value("reply-to") == "K" && invocation.value("home") == "/x")
    }

    @Test func shortForms() throws {
        for words in [["-n", "5"], ["-n5"], ["-n=5"], ["--number", "5"], ["--number=5"], ["-fn5"], ["-qfn", "5"]] {
            guard case .run(let invocation) = try Parser(sample).parse(["read", "#all"] + words) else { throw NotRun() }
            #expect(invocation.value("number") == "5", "\(words)")
        }
        let both = try run("read", "-fq", "x")
        #expect(both.has("follow") && both.has("quiet"))
        #expect(try run("read", "x", "--number=\u{301}1").value("number") == "\u{301}1")
        #expect(try run("read", "x", "--number=").value("number") == "")
        #expect(try run("read", "x", "--number=a=b").value("number") == "a=b")
    }

    @Test func keysAreNeverOptions() throws {
        for key in [Self.autoID, Self.pushID, Self.uid, "--home-is-a-bird-000", "----------------------"] {
            let invocation = try run("tree", "delete", key)
            #expect(invocation.argument("KEY") == key)
            #expect(try run("send", "#all", "-r", key).value("reply-to") == key)
            #expect(try run("send", "#all", key).rest("TEXT") == [key])
        }
        #expect(throws: UsageError.self) { try run("tree", "delete", Self.autoID + "x") }
        #expect(throws: UsageError.self) { try run("tree", "delete", "-Oabcdefghijklmno/qrsT") }
    }

    @Test func negativeNumbersAreWords() throws {
        #expect(try run("tree", "set", "a", "-5").argument("JSON") == "-5")
        #expect(try run("tree", "set", "a", "-0.5e1").argument("JSON") == "-0.5e1")
        #expect(try run("tree", "delete", "-").argument("KEY") == "-")
    }

    @Test func twoDashesEndOptions() throws {
        let invocation = try run("send", "#all", "--", "--json", "-x", "--")
        #expect(invocation.rest("TEXT") == ["--json", "-x", "--"])
        #expect(!invocation.has("json"))
    }

    @Test func repeatedOptions() throws {
        #expect(try run("read", "x", "--tag", "a", "--tag=b").values("tag") == ["a", "b"])
        #expect(try run("read", "x", "-f", "-f").has("follow"))
    }

    @Test func optionalAndCallableParents() throws {
        #expect(try run("tree", "get").argument("PATH") == nil)
        #expect(try run("tree", "get", "a/b").argument("PATH") == "a/b")
        #expect(try run("channels").path == ["channels"])
        #expect(try run("channels", "create", "lunch").path == ["channels", "create"])
        // A word that happens to be a command's name, where commands are no longer looked for.
        #expect(try run("send", "send", "tree").rest("TEXT") == ["tree"])
    }

    static let mistakes: [(words: [String], message: String)] = [
        (["whistle"], "bird has no command whistle"), (["sned"], "bird has no command sned; did you mean send?"),
        (["tree"], "a command is missing: one of get, delete, set"),
        (["tree", "gat"], "bird tree has no command gat; did you mean get?"),
        (["channels", "x"], "bird channels has no command x"),
        (["send"], "TO is missing: Whom"), (["read", "a", "b"], "one word too many: b"),
        (["read", "a", "--folow"], "unknown option --folow; did you mean --follow?"),
        (["read", "a", "-x"], "unknown option -x (put -- before words that begin with a dash)"),
        (["read", "a", "-n"], "-n needs a value: N"), (["read", "a", "-n", "-f"], "-n needs a value: N"),
        (["read", "a", "--number", "--follow"], "--number needs a value: N"),
        (["read", "a", "--follow=1"], "--follow takes no value"),
        (["read", "-n1", "-n2", "a"], "--number was given twice"),
        (["typing", "maybe"], "STATE must be one of on, off"),
        (["send", "--shallow", "x"], "unknown option --shallow (put -- before words that begin with a dash)"),
    ]

    @Test(arguments: mistakes.indices)
    func mistakesAreNamed(_ index: Int) {
        let (words, message) = Self.mistakes[index]
        let error = #expect(throws: UsageError.self) { try Parser(sample).parse(words) }
        #expect(error?.message == message)
    }

    static let helps: [(words: [String], path: [String])] = [
        (["--help"], []), (["-h"], []), (["send", "--help"], ["send"]), (["tree", "get", "-h"], ["tree", "get"]),
        (["tree", "--help"], ["tree"]), (["read", "-fh"], ["read"]), (["read", "--nonsense", "--help"], ["read"]),
        (["send", "-h", "a", "b"], ["send"]), (["--home", "x", "send", "--help"], ["send"]),
    ]

    @Test(arguments: helps.indices)
    func helpWinsOverMistakes(_ index: Int) throws {
        let (words, path) = Self.helps[index]
        #expect(try Parser(sample).parse(words) == .help(path))
    }

    @Test func helpAfterTwoDashesIsAWord() throws {
        #expect(try run("send", "x", "--", "--help").rest("TEXT") == ["--help"])
    }

    @Test func version() throws {
        #expect(try Parser(sample).parse(["--version"]) == .version)
    }

    @Test func integersHaveARange() throws {
        #expect(try run("read", "x", "-n7").integer("number", in: 1...9) == 7)
        #expect(try run("read", "x").integer("number", in: 1...9) == nil)
        let error = #expect(throws: UsageError.self) { try run("read", "x", "-n0").integer("number", in: 1...9) }
        #expect(error?.message == "--number must be a number from 1 to 9")
        #expect(error?.path == ["read"])
        #expect(throws: UsageError.self) { try run("read", "x", "-n", "many").integer("number", in: 1...9) }
    }
}
