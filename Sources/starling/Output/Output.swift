internal import CPosix
internal import ControlAPI
internal import ControlClient
internal import Glibc

/// Standard output: collected, written in large pieces, coloured only on a terminal.
final class Output {
    /// Whether standard output is a terminal.
    let isTerminal: Bool
    let style: Style
    /// What has been done already, in words; said where the output cannot be written, lest a script do it twice.
    var done: String?
    private var pending: [UInt8] = []

    /// Whether standard output is a terminal that can print lines and nothing more, or says nothing about itself.
    let isDumb: Bool

    init() {
        isTerminal = isatty(STDOUT_FILENO) == 1
        let kind = unsafe getenv("TERM").map { unsafe String(cString: $0) } ?? ""
        isDumb = isTerminal && ["", "dumb"].contains(kind)
        let isColourless = unsafe getenv("NO_COLOR") != nil
        style = Style(isColoured: isTerminal && !isDumb && !isColourless)
    }

    /// Columns of the terminal; 80 without one.
    var columns: Int { size.map { $0.columns > 0 ? $0.columns : 80 } ?? 80 }

    /// Rows of the terminal; 0 without one.
    var rows: Int { size?.rows ?? 0 }

    private var size: (columns: Int, rows: Int)? {
        var (columns, rows): (Int32, Int32) = (0, 0)
        guard isTerminal, unsafe starling_screen_size(STDOUT_FILENO, &columns, &rows) == 0 else { return nil }
        return (Int(columns), Int(rows))
    }

    /// Adds text that is safe already: one's own words, or what went through the escaper.
    func text(_ text: String) {
        pending.append(contentsOf: text.utf8)
        if pending.count > 64 << 10 { flush() }
    }

    /// Adds a line of such text.
    func line(_ text: String) {
        self.text(text)
        self.text("\n")
    }

    /// Adds JSON on a line of its own. What is not plainly visible stands as `\u` escapes: the same JSON, and safe to
    /// show.
    func json(_ value: JSON) {
        line(Escaper.escape(json: value.description))
    }

    /// The text in a style, if this is a terminal that may have colour.
    func styled(_ text: String, _ styles: Style.Attribute...) -> String {
        style.apply(text, styles)
    }

    /// A name in the colour that its owner's uid gives it.
    func name(_ text: String, uid: String) -> String {
        style.apply(text, [Style.colour(of: uid)])
    }

    /// Writes what was collected. Ends the program when nobody reads it any more.
    func flush() {
        write(STDOUT_FILENO, pending)
        pending.removeAll(keepingCapacity: true)
    }

    /// Writes a complaint to standard error, harmless whatever is in it.
    static func complain(_ text: String) {
        Output.write(STDERR_FILENO, Array((Escaper.escape(text, lines: .kept) + "\n").utf8))
    }

    /// Ends the program where it cannot write: without a word if nobody reads any more, as others do.
    private func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        let failure = Output.write(descriptor, bytes)
        guard failure != 0 else { return }
        if failure != EPIPE {
            let words = "\(ClientError.system(doing: "writing the output", errno: failure))"
            Output.complain("starling: \(words)" + (done.map { "; \($0)" } ?? ""))
        }
        exit(1)
    }

    /// Opens those of the three standard files that are closed, so that no connection gets their numbers and what is
    /// printed does not go to the daemon. They are opened the wrong way round: using them fails as it would without.
    static func openClosedFiles() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            _ = unsafe open("/dev/null", mode)
        }
    }

    /// Writes all of it, waiting for room. 0, or else what errno says.
    @discardableResult
    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Int32 {
        var rest = ArraySlice(bytes)
        while !rest.isEmpty {
            let size = rest.count
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, size) }
            let failure = count < 0 ? errno : EIO
            if count < 0, failure == EINTR { continue }
            if count < 0, failure == EAGAIN {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
                continue
            }
            guard count > 0 else { return failure }
            rest = rest.dropFirst(count)
        }
        return 0
    }
}
