import ControlAPI
import Lab
import Testing

@testable import starling

/// `starling tree history`
@Suite(.serialized, .showsLogs)
struct TreeHistoryTests {
    @Test(.timeLimit(.minutes(1))) func whatAnotherOverwroteIsPutBack() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        _ = try await ann.row("tree", "set", "demo/lamp", #"{"on":true,"note":"\u001b[31mred‮"}"#)
        try await converge(ann, bob)
        _ = try await bob.row("tree", "set", "demo/lamp", "false")
        try await converge(ann, bob)

        let rows = try await ann.rows("tree", "history", "demo/lamp").map(HistoryRow.init(json:))
        #expect(rows.map(\.isLive) == [true, false])
        #expect(rows.map(\.authorName) == ["bob", "ann"] && rows.last?.death?.name == "bob")
        let id = try #require(rows.last?.id)
        let shown = try await ann.starling("tree", "history", "demo/lamp")
        #expect(shown.status == 0 && shown.err.isEmpty)
        let lines = shown.out.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("now ") == true && lines.first?.hasSuffix("  bob                false") == true)
        #expect(lines.last?.hasPrefix(id.prefix(8) + "  20") == true)
        #expect(lines.last?.contains("  bob overwrote ann  ") == true)
        #expect(lines.last?.hasSuffix(#"{"note":"\u001b[31mred\u202e","on":true}"#) == true, "\(shown.out)")

        #expect(try await ann.rows("tree", "history", "demo/lamp", "-n", "1").count == 2)
        let back = try await bob.starling("tree", "history", "demo/lamp", "--restore", String(id.prefix(5)))
        #expect(back.status == 0 && back.out.hasPrefix(#"restored demo/lamp: {"note":"\u001b[31mred"#))
        #expect(back.out.contains(", as ann wrote it 20"))
        #expect(try await bob.row("tree", "get", "demo/lamp")["on"] == true)
        try await converge(ann, bob)
        #expect(try await ann.row("tree", "get", "demo/lamp")["on"] == true)
        let again = try await ann.row("tree", "history", "demo/lamp", "--restore", id)
        #expect(try HistoryRow(json: again).id == id)

        // After a restart it is still there.
        try await ann.stop()
        try await ann.startLocally()
        #expect(try await ann.rows("tree", "history", "demo/lamp").contains { $0["id"]?.string == id })
    }

    @Test(.timeLimit(.minutes(1))) func howItEnds() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        for number in 0..<20 { _ = try await ann.row("tree", "set", "demo/\(number)", "\(number)") }
        try await converge(ann, bob)
        _ = try await bob.row("tree", "remove", "demo")
        try await converge(ann, bob)
        let rows = try await ann.rows("tree", "history", "demo").map(HistoryRow.init(json:)).filter { !$0.isLive }
        #expect(rows.count == 20)
        let shared = try #require(Dictionary(grouping: rows, by: { $0.id.prefix(1) }).first { $0.value.count > 1 }?.key)
        for (id, code) in [(String(shared), Int32(4)), ("zz", 4), ("ffffffffffffffffffff", 4)] {
            let result = try await ann.starling("tree", "history", "demo", "--restore", id)
            #expect(result.status == code && result.out.isEmpty, "\(id): \(result.err)")
            #expect(result.err.contains(id == String(shared) ? "ambiguous_name" : "not_found"))
        }
        for words in [["-n", "0"], ["-n", "1001"], ["-n", "5", "--restore", "00"], ["extra"]] {
            let result = try await ann.spawn("starling", ["tree", "history", "demo"] + words).finish()
            #expect(result.status == 2, "\(words): \(result.err)")
        }
        let none = try await ann.starling("tree", "history", "elsewhere")
        #expect(none.status == 0 && none.out == "nothing that somebody else overwrote here in the last 7 days\n")
        #expect(try await ann.rows("tree", "history", "elsewhere").isEmpty)

        // What anybody may write, but holds what belongs to one: another cannot write it again.
        let uid = try #require(try await bob.row("identity", "show")["uid"]?.string)
        let place = "channels/-Mabcdefghijklmnopqr/messages/-Mabcdefghijklmnopqs"
        _ = try await bob.row("tree", "set", place, #"{"text":"x","reactions":{"\#(uid)":{"👍":true}}}"#)
        try await converge(ann, bob)
        _ = try await ann.row("tree", "set", place, #"{"text":"y"}"#)
        let id = try #require(try await ann.rows("tree", "history", place).last?["id"]?.string)
        let denied = try await ann.starling("tree", "history", place, "--restore", id)
        #expect(denied.status == 5 && denied.err.contains("permission_denied"), "\(denied.err)")
    }

    // MARK: Output

    private func row(
        _ id: String, path: String = "demo/x", within: String? = nil, _ value: JSON?, by author: String,
        killer: String? = nil
    ) -> HistoryRow {
        HistoryRow(
            id: id, path: path, within: within, value: value, tooLarge: value == nil ? 5_200_000 : nil,
            author: "uid-\(author)", authorName: author, writtenAt: 0,
            death: killer.map { HistoryRow.Death(uid: "uid-\($0)", name: $0, at: 60_000, diedAt: 0) })
    }

    @Test func linesForPeople() {
        let rows = [
            row("1", .null, by: "ann"), row("aaaaaaaabbbbbbbb", nil, by: "ann", killer: "bob"),
            row("ccccccccbbbbbbbb", path: "demo/x/y", "\u{202e}x\n", by: "b\u{1b}[1m", killer: "ann"),
            row("ddddddddbbbbbbbb", within: "demo", 1, by: "bob", killer: "ann"),
        ]
        let lines = TreeHistory.lines(rows, at: "/demo/x/", Output()).map { line in
            line.split(separator: " ").joined(separator: " ")
        }
        let time = LocalTime(milliseconds: 0).stamp
        let later = LocalTime(milliseconds: 60_000).stamp
        #expect(
            lines == [
                "now \(time) ann nothing", "aaaaaaaa \(later) bob overwrote ann 5.2 MB, too large to be shown",
                #"cccccccc \#(later) ann overwrote b\x1b[1m demo/x/y "\u202ex\n""#,
                "dddddddd \(later) ann overwrote bob within demo 1",
            ])
        let twins = ["aaaaaaaabbbbbbbb", "aaaaaaaacccccccc"].map { row($0, 1, by: "ann", killer: "bob") }
        let ids = TreeHistory.lines(twins, at: "demo/x", Output()).map { $0.prefix { $0 != " " } }
        #expect(ids == ["aaaaaaaabbbbbbbb", "aaaaaaaacccccccc"], "short ones would be the same")
    }
}
