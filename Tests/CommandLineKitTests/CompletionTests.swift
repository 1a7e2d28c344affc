import CommandLineKit
import Foundation
import Testing

struct CompletionTests {
    /// What bash itself completes with the generated script.
    private func completed(_ words: String...) throws -> [String] {
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let script =
            Completion(sample).bash() + """
                COMP_WORDS=(bird \(list)); COMP_CWORD=\(words.count); _bird; echo "${COMPREPLY[@]}"
                """
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["--norc", "-c", script]
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    }

    @Test func bashCompletes() throws {
        #expect(try completed("") == ["send", "read", "tree", "typing", "channels", "help", "version"])
        #expect(try completed("help", "tr") == ["tree"])
        #expect(try completed("help", "tree", "") == ["get", "delete", "set"])
        #expect(try completed("t") == ["tree", "typing"])
        #expect(try completed("tree", "") == ["get", "delete", "set"])
        #expect(try completed("tree", "get", "--") == ["--shallow", "--home", "--help"])
        #expect(try completed("read", "#all", "--f") == ["--follow"])
        #expect(try completed("typing", "o") == ["on", "off"])
        #expect(try completed("send", "") == [])
    }

    @Test func zshKnowsEveryCommandAndOption() {
        let script = Completion(sample).zsh()
        #expect(script.hasPrefix("#compdef bird\n"))
        #expect(
            script.contains("(/send|/read|/tree|/tree/get|/tree/delete|/tree/set|/typing|/channels|/channels/create)"))
        #expect(script.contains(#"'--quiet:Don'\''t\: say much'"#))
        #expect(script.contains(#"commands=('get:Read a value' 'delete:Remove' 'set:Write')"#))
        #expect(script.contains("commands=('on' 'off')"))
        #expect(script.contains("'help:Show help, also of a command' 'version:Show the version')"))
    }

    @Test func fishKnowsEveryCommandAndOption() {
        let script = Completion(sample).fish()
        #expect(script.contains(#"complete -c bird -n '__bird_at ""' -a send -d 'Send a message'"#))
        #expect(script.contains(#"complete -c bird -n '__bird_at "/read"' -s n -l number -r -d 'How many'"#))
        #expect(script.contains(#"complete -c bird -n '__bird_at ""' -a version -d 'Show the version'"#))
        #expect(script.contains(#"-s q -l quiet -d 'Don\'t: say much'"#))
        #expect(script.contains(#"complete -c bird -n '__bird_at "/tree/get"' -l shallow"#))
    }

    @Test func manualPage() {
        let page = ManualPage(sample).text()
        #expect(page.hasPrefix(".TH BIRD 1 \"\" \"bird 1.2\"\n.SH NAME\nbird \\- sings over the network\n"))
        #expect(page.contains(".SS send TO [TEXT…]\nSend a message.\n"))
        #expect(page.contains(".TP\n.B \\-r, \\-\\-reply\\-to KEY\nThe message that is answered\n"))
        #expect(page.contains("bird send \\(aq#all\\(aq hello"))
        #expect(page.contains(".SH EXIT STATUS\n.TP\n.B 0\ndone\n"))
        #expect(page.contains(".B ~/.bird\n\\(aqthe\\(aq nest\n"))
        #expect(page.contains(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\n"))
    }
}
