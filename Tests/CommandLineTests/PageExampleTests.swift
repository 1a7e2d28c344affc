import ControlAPI
import Lab
import Testing

/// What the documentation shows is what happens.
@Suite(.serialized, .showsLogs)
struct PageExampleTests {
    /// - Parameter least: how many steps the page has at least.
    @Test(.timeLimit(.minutes(2)), arguments: [("TreeAPI", 200), ("ClientAPI", 10)])
    func everyExampleDoesWhatThePageSays(page: String, least: Int) async throws {
        let examples = try PageExamples(of: PageExamples.page(page))
        #expect(examples.stepCount >= least)
        let run = try await PageRun()
        try await run.carryOut(examples)
        for difference in run.differences { Issue.record("\(page).md, \(difference)") }
    }

    /// A page that says something else than what happens is found out.
    @Test(.timeLimit(.minutes(1))) func differencesAreFound() async throws {
        let run = try await PageRun()
        let pages = [
            ("```json\n→ tree.get {\"path\":\"x\"}\n← {\"value\":1}\n```", "the daemon says"),
            ("```json\n→ tree.get {\"path\":\"x\"}\n← error {\"value\":null}\n```", "the daemon says"),
            ("```json\n→ tree.get {\"path\":\"x\"}\n```", "there comes more"),
            ("```json\n→ tree.newKey {}\n← {\"key\":\"+…\"}\n```", "the daemon says"),
            ("```sh\n$ echo a; echo b\na\n```", "prints"), ("```sh\n$ starling tree get x\n…null\n```", "prints"),
            ("```sh\nbob$ exit\n```", "the shell has ended"),
        ]
        for (number, (page, words)) in pages.enumerated() {
            try await run.carryOut(try PageExamples(of: page))
            #expect(run.differences.count == number + 1 && run.differences.last?.contains(words) == true, "\(page)")
        }
    }

    @Test(arguments: [
        "no example", "```\n$ x\n```", "```json\n```", "```sh\noutput\n```", "```json\n{}\n```", "```sh\n$ x",
        "text\n\n    $ x\n", "```json\n→ tree.newKey {}\n← {\"a\":}\n```", "```json\n← event [\n```",
        "```json\n  → x\n```",
    ])
    func whatCannotBeExecutedIsRefused(page: String) {
        #expect(throws: LabError.self) { try PageExamples(of: page) }
    }

    @Test func examplesAreRead() throws {
        let page = "# T\n\n```json\n→ a {\"b\":\n   1}\n← event {}\n```\n```sh\n$ x |\n>   y\n1\n\n2\nbob$ z\n```\n"
        let blocks = try PageExamples(of: page).blocks
        let steps: [PageExamples.Step] = [
            .request("a {\"b\": 1}"), .answer("event {}"),
            .command("x |\n  y", machine: nil, output: ["1", "", "2"]), .command("z", machine: "bob", output: []),
        ]
        #expect(blocks.flatMap(\.steps) == steps)
        #expect(blocks.map(\.line) == [3, 8])
    }
}
