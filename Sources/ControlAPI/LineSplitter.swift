internal import Glibc

/// Cuts a stream of bytes into lines, with a bound on what it holds.
///
/// Feed it chunks as they arrive and take lines until there is none. Each byte is looked at once, however small the
/// chunks are.
public struct LineSplitter: Sendable {
    /// The longest line of the client API, without its newline: 4 MiB, room for one `update` (2 MiB of values) with
    /// every byte escaped.
    public static let lineMax = 4 << 20

    /// A buffer that grew beyond this for one long line is given back once that line is taken.
    private static let keptMax = 64 << 10

    private let lineMax: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var scanned = 0
    private var overlong = false

    /// - Parameter lineMax: the longest line in bytes, without its newline.
    public init(lineMax: Int = LineSplitter.lineMax) {
        self.lineMax = lineMax
    }

    /// Takes bytes in. After an overlong line they are dropped: there is no way to find the next message.
    public mutating func append(_ chunk: Span<UInt8>) {
        guard !overlong else { return }
        compact()
        unsafe chunk.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
    }

    /// Takes bytes in.
    public mutating func append(_ chunk: [UInt8]) {
        append(chunk.span)
    }

    /// The next whole line without its newline, or nil until more bytes come. The slice shares the splitter's buffer:
    /// keep it beyond the next `append` and the buffer is copied.
    ///
    /// - Throws: ``LineError/overlong`` from the first line longer than the bound on: the connection can only be
    ///   closed.
    public mutating func next() throws(LineError) -> ArraySlice<UInt8>? {
        guard !overlong else { throw .overlong }
        guard let end = newline() else {
            scanned = buffer.count
            if buffer.count - start > lineMax { throw fail() }
            return nil
        }
        guard end - start <= lineMax else { throw fail() }
        let line = buffer[start..<end]
        start = end + 1
        scanned = start
        return line
    }

    /// Bytes of an unfinished line: more than none when the stream ends means that it was cut.
    public var pendingCount: Int { buffer.count - start }

    private mutating func fail() -> LineError {
        overlong = true
        buffer = []
        start = 0
        scanned = 0
        return .overlong
    }

    private func newline() -> Int? {
        unsafe buffer.withUnsafeBytes { bytes in
            guard scanned < bytes.count, let base = bytes.baseAddress else { return nil }
            guard let hit = unsafe memchr(base + scanned, 0x0A, bytes.count - scanned) else { return nil }
            return unsafe UnsafeRawPointer(hit) - base
        }
    }

    /// Drops the lines that were taken, once they are at least half of the buffer: so each byte moves once at most.
    private mutating func compact() {
        guard start > 0 else { return }
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptMax)
        } else if start >= buffer.count - start {
            buffer.removeSubrange(..<start)
        } else {
            return
        }
        scanned -= start
        start = 0
    }
}

/// Why no further line can be taken from a stream.
public enum LineError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A line was longer than the bound.
    case overlong

    public var description: String {
        "a line is longer than \(LineSplitter.lineMax) bytes"
    }
}
