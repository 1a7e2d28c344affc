import Lab
import Synchronization
import Testing

/// What the daemons of the running test have logged: every issue of a test shows the end of it.
enum Journal {
    private struct Page: Sendable {
        let test: Test.ID?
        let title: String
        let log: LineStream
    }

    /// More than any test starts.
    private static let pagesMax = 200
    private static let linesShown = 25
    private static let pages = Mutex<[Page]>([])

    static func add(_ title: String, _ log: LineStream) {
        let page = Page(test: Test.current?.id, title: title, log: log)
        pages.withLock { pages in
            pages.removeAll { $0.test != page.test }
            pages.append(page)
            pages.removeFirst(max(0, pages.count - pagesMax))
        }
    }

    /// The last lines of the daemons that this test started last.
    static var tails: String {
        let own = pages.withLock { $0 }.filter { $0.test == Test.current?.id }
        return own.suffix(6).map { page in
            let lines = page.log.text.split(separator: "\n").suffix(linesShown)
            return "log of \(page.title):\n" + lines.map { "  \($0)\n" }.joined()
        }.joined()
    }
}

extension Trait where Self == IssueHandlingTrait {
    /// Adds the daemons' logs to every issue.
    static var showsLogs: Self {
        .compactMapIssues { issue in
            var issue = issue
            let tails = Journal.tails
            let comment = Comment(rawValue: tails)
            // A suite's trait is asked once for the suite and once for the test.
            if !tails.isEmpty, !issue.comments.contains(comment) { issue.comments.append(comment) }
            return issue
        }
    }
}
