import CommandLineKit
import Testing

struct HelpTests {
    @Test func programHelp() {
        let expected = """
            Sings over the network.

            Birds of one garden hear one another.

            Usage:
              bird [OPTIONS]
              bird COMMAND …

            Chat:
              send TO [TEXT…]  Send a message
              read IN          Read messages

            Tree:
              tree  The tree

            Commands:
              typing STATE  Say that you type
              channels      List the channels

            Options:
              --home DIR  Everything under DIR

            Everywhere:
              -h, --help  Show this

            Examples:
              bird
                  Open the garden

            Exit codes:
              0  done
              2  usage

            Environment:
              NO_COLOR  no colour

            """
        #expect(Help(sample).text([]) == expected)
    }

    @Test func commandHelp() {
        let expected = """
            Send a message.

            Usage:
              bird send [OPTIONS] TO [TEXT…]

            Arguments:
              TO    Whom
              TEXT  What; standard input without

            Options:
              -r, --reply-to KEY  The message that is answered
              --json              One object a line

            Everywhere:
              --home DIR  Everything under DIR
              -h, --help  Show this

            Examples:
              bird send '#all' hello
                  Say hello to all

            """
        #expect(Help(sample).text(["send"]) == expected)
    }

    @Test func choicesAreListed() {
        #expect(Help(sample).text(["typing"]).contains("STATE  Which: on, off"))
    }

    @Test func longTextWrapsUnderItself() {
        let program = Program(
            root: Command("x", "X", options: [Option("y", "one two three four five six seven eight nine ten eleven")]),
            version: "1")
        let lines = Help(program, columns: 40).text([]).split(separator: "\n").map(String.init)
        #expect(lines.contains("  --y  one two three four five six seven"))
        #expect(lines.contains("       eight nine ten eleven"))
    }

    @Test func everyCallableCommandIsWalked() {
        let paths = sample.callable.map { $0.path.joined(separator: " ") }
        let expected = [
            "", "send", "read", "tree get", "tree delete", "tree set", "typing", "channels", "channels create",
        ]
        #expect(paths == expected)
    }
}
