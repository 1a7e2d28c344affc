import ControlAPI
import Foundation
import Lab
import Testing

@testable import starling

/// `starling search`, with the real programs.
@Suite(.timeLimit(.minutes(2)))
struct SearchCommandTests {
    @Test func findsWhatIsThereAlsoAfterAKill() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        let first = try await ann.say("the coffee machine broke")
        let second = try await ann.say("coffee is back")
        _ = try await ann.row("channels", "create", "ops")
        _ = try await ann.row("send", "ops", "no coffee here")
        #expect(try await ann.rows("search", "coffee").compactMap { $0["text"]?.string }.count == 3)
        // Written and at once killed: the index may have seen nothing of it yet.
        try await ann.crash()
        try await ann.startLocally()
        _ = try await ann.row("edit", first, "the printer broke")
        _ = try await ann.row("delete", second)
        let third = try await ann.say("coffee again")
        try await ann.crash()
        try await ann.startLocally()
        let found = try await ann.rows("search", "coffee")
        #expect(found.compactMap { $0["text"]?.string } == ["no coffee here", "coffee again"])
        #expect(try await ann.rows("search", "\"printer bro\"*").map { $0["key"]?.string } == [first])
        #expect(try await ann.rows("search", "machine").isEmpty)
        #expect(try await ann.rows("search", "coffee", "--in", "general") == ann.rows("read", "general", "-n", "1"))
        #expect(try await ann.rows("search", "coffee", "--before", third).count == 1)
        #expect(try await ann.rows("search", "coffee", "--since", "1h", "--from", "ann").count == 2)
        #expect(try await ann.rows("search", "coffee", "--before", "2020-01-01").isEmpty)
    }

    @Test func whatPeopleSee() async throws {
        let ann = try Machine("ann")
        try await ann.startLocally()
        try await ann.say("coffee \u{1B}[31mred")
        let shown = try await ann.starling("search", "coffee", "-k")
        #expect(shown.status == 0 && shown.out.contains("#general ·") && shown.out.contains("ann │ coffee"))
        #expect(!shown.out.contains("\u{1B}"), "no colour without a terminal, and none of a message's own")
        let nothing = try await ann.starling("search", "tea")
        #expect(nothing.status == 0 && nothing.out.isEmpty && nothing.err.contains("no message is found"))
        #expect(try await ann.starling("search").status == 2)
        #expect(try await ann.starling("search", "x", "--since", "yesterday").status == 2)
        #expect(try await ann.starling("search", "x", "-n", "0").status == 2)
        #expect(try await ann.starling("search", "?!").status == 1)
        #expect(try await ann.starling("search", "x", "--in", "nowhere").status == 4)
        #expect(try await ann.starling("search", "x", "--from", "nobody").status == 4)
        try await ann.stop()
        #expect(try await ann.starling("search", "x").status == 3)
    }

    @Test(
        arguments: [
            ("2026-11-30T12:00Z", 1_796_040_000_000), ("2026-11-30T12:00:30Z", 1_796_040_030_000),
            ("1970-01-01T00:00Z", 0), ("2h", 992_800_000), ("90m", 994_600_000), ("0s", 1_000_000_000),
            ("1w", 395_200_000), ("999999w", 0), ("2026-02-30", nil), ("2026-13-01", nil), ("2026-1-1", nil),
            ("2026-11-30T24:00", nil), ("2026-11-30T12", nil), ("2026-11-30Z", nil), ("", nil), ("h", nil),
            ("-2h", nil), ("2x", nil), ("T12:00", nil), ("9999999h", nil), ("yesterday", nil), ("2026-11-30T", nil),
        ] as [(String, Int64?)])
    func times(word: String, expected: Int64?) {
        #expect(TimeWord.milliseconds(word, nowMs: 1_000_000_000) == expected)
    }

    @Test func localTimes() throws {
        let day = try #require(TimeWord.milliseconds("2026-11-30", nowMs: 0))
        let noon = try #require(TimeWord.milliseconds("2026-11-30T12:00", nowMs: 0))
        #expect(noon - day == 12 * 3_600_000 && LocalTime(milliseconds: noon).clock == "12:00")
    }

    @Test func emphasis() {
        let style = Style(isColoured: true)
        func shown(_ text: String, _ query: String) -> String {
            Emphasis(query).applied(to: text, style).replacingOccurrences(of: "\u{1B}[1;33m", with: "<")
                .replacingOccurrences(of: "\u{1B}[0m", with: ">")
        }
        #expect(shown("The Fox, a firefox", "fox*") == "The <Fox>, a firefox")
        #expect(shown("東京都", "\"京都\"") == "東<京都>")
        #expect(shown("foxes", "fox foxes") == "<foxes>")
        #expect(shown("Une CAFÉTIÈRE, ein Cafe\u{301}", "cafe*") == "Une <CAFÉ>TIÈRE, ein <Cafe\u{301}>")
        #expect(shown("grüße, gruss", "GRÜ") == "<grü>ße, <gru>ss")
        #expect(shown("nothing", "***") == "nothing")
        #expect(Emphasis("fox").applied(to: "fox", Style(isColoured: false)) == "fox")
    }
}
