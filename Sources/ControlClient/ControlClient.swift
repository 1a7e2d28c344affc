public import ControlAPI
internal import Glibc

/// A connection to the daemon: requests and their answers, and the events that come between them.
///
/// One thread, no callbacks: calls wait in poll(2) with a deadline, and what arrives meanwhile is kept. Requests may be
/// pipelined with ``send(_:_:)`` and ``answer(to:timeoutMs:)``. For a loop of one's own, poll ``fileDescriptor`` and
/// call ``nextEvent(timeoutMs:)`` with 0.
public final class ControlClient {
    /// How long an answer may take: a daemon that holds up a client this long is hung.
    public static let answerTimeoutMs = 30_000
    /// Events kept while an answer is awaited. Beyond it the connection is given up: nobody reads them.
    public static let eventsMax = 1 << 17

    private let stream: SocketStream
    private var splitter = LineSplitter()
    private var chunk = [UInt8](repeating: 0, count: 64 << 10)
    private var outgoing: [UInt8] = []
    private var events: [ControlEvent] = []
    private var eventsTaken = 0
    private var answers: [Int64: Result<JSON, RPCError>] = [:]
    private var awaited: Set<Int64> = []
    private var lastID: Int64 = 0
    private var lastWords: String?
    private var hasEnded = false

    /// What the daemon said first.
    public let hello: Hello

    /// Connects to the first socket that somebody listens at and waits for the daemon's `hello`.
    ///
    /// - Throws: ``ClientError/noDaemon(tried:start:)`` if there is none.
    public static func connect(_ places: SocketPlaces, timeoutMs: Int = 5_000) throws(ClientError) -> ControlClient {
        for path in places.sockets {
            do throws(ClientError) {
                return try ControlClient(path: path, timeoutMs: timeoutMs)
            } catch .system(_, ENOENT), .system(_, ENOTDIR), .system(_, ECONNREFUSED) {
                continue
            }
        }
        throw .noDaemon(tried: places.sockets, start: places.startCommand)
    }

    /// Connects to a socket and waits for the daemon's `hello`.
    public init(path: String, timeoutMs: Int = 5_000) throws(ClientError) {
        let deadline = Deadline(timeoutMs: timeoutMs)
        stream = try SocketStream(path: path, deadline: deadline)
        var splitter = LineSplitter()
        var chunk = self.chunk
        hello = try Self.greeting(stream, &splitter, &chunk, deadline)
        self.splitter = splitter
        // What came in one piece with the hello makes nothing readable any more.
        try takeLines()
    }

    private static func greeting(
        _ stream: borrowing SocketStream, _ splitter: inout LineSplitter, _ chunk: inout [UInt8], _ deadline: Deadline
    ) throws(ClientError) -> Hello {
        while true {
            if let answer = try nextAnswer(&splitter) {
                guard case .notification("hello", let params) = answer else {
                    if case .error(_, let error) = answer { throw .refused(error) }
                    throw .protocolViolation("its first line is no hello")
                }
                let hello: Hello
                do throws(RPCError) { hello = try Hello(params: params) } catch {
                    throw .protocolViolation("hello: \(error.message)")
                }
                guard hello.api == Hello.api else {
                    throw .protocolViolation("it speaks version \(hello.api) of the API, this program \(Hello.api)")
                }
                return hello
            }
            guard try stream.wait(forRoom: false, deadline: deadline) != nil else {
                throw .timedOut(doing: "the daemon does not say hello")
            }
            if case .ended = try stream.read(into: &splitter, &chunk) { throw .closed(nil) }
        }
    }

    /// Readable when ``nextEvent(timeoutMs:)`` may find something, also the end of the connection. It belongs to the
    /// client; only poll it.
    public var fileDescriptor: Int32 { stream.descriptor }

    /// Sends a request and waits for its answer; events that come first are kept.
    ///
    /// - Throws: ``ClientError/refused(_:)`` with the daemon's error.
    @discardableResult
    public func call(
        _ method: String, _ params: JSON = [:], timeoutMs: Int = ControlClient.answerTimeoutMs
    ) throws(ClientError) -> JSON {
        try answer(to: send(method, params), timeoutMs: timeoutMs)
    }

    /// Sends a request without waiting for its answer; returns the id to ask for it.
    public func send(_ method: String, _ params: JSON = [:]) throws(ClientError) -> Int64 {
        lastID += 1
        awaited.insert(lastID)
        try write(RPCRequest(id: .int(lastID), method: method, params: params).line)
        return lastID
    }

    /// Sends a request that is never answered, not even with an error.
    public func notify(_ method: String, _ params: JSON = [:]) throws(ClientError) {
        try write(RPCRequest(id: nil, method: method, params: params).line)
    }

    /// Waits for the answer to a request that ``send(_:_:)`` sent.
    public func answer(
        to id: Int64, timeoutMs: Int = ControlClient.answerTimeoutMs
    ) throws(ClientError) -> JSON {
        let deadline = Deadline(timeoutMs: timeoutMs)
        while true {
            if let answer = answers.removeValue(forKey: id) {
                do throws(RPCError) { return try answer.get() } catch { throw .refused(error) }
            }
            guard try progress(deadline) else {
                awaited.remove(id)
                throw .timedOut(doing: "the daemon does not answer")
            }
        }
    }

    /// The next event, waiting for one up to a time; nil if none came. 0 looks only at what has arrived.
    ///
    /// - Parameter timeoutMs: nil waits for ever.
    /// - Throws: ``ClientError/closed(_:)`` once the events that came before the end are taken.
    public func nextEvent(timeoutMs: Int?) throws(ClientError) -> ControlEvent? {
        let deadline = Deadline(timeoutMs: timeoutMs)
        while true {
            if eventsTaken < events.count {
                defer { dropTaken() }
                eventsTaken += 1
                return events[eventsTaken - 1]
            }
            guard try progress(deadline) else { return nil }
        }
    }

    private func dropTaken() {
        guard eventsTaken == events.count || eventsTaken > 4_096 else { return }
        events.removeFirst(eventsTaken)
        eventsTaken = 0
    }

    /// Sends what is left over and takes in what has arrived, waiting for either. False after the deadline.
    private func progress(_ deadline: Deadline) throws(ClientError) -> Bool {
        guard !hasEnded else { throw .closed(lastWords) }
        guard let ready = try stream.wait(forRoom: !outgoing.isEmpty, deadline: deadline) else { return false }
        if ready.writable { try flush() }
        if ready.readable { try receive() }
        return true
    }

    /// Sends all of it. The daemon's lines are read meanwhile: it may be waiting for us to read before it reads on.
    private func write(_ line: [UInt8]) throws(ClientError) {
        guard line.count - 1 <= LineSplitter.lineMax else {
            throw .refused(RPCError(reason: .tooLarge, message: "a request has at most \(LineSplitter.lineMax) bytes"))
        }
        outgoing.append(contentsOf: line)
        try flush()
        let deadline = Deadline(timeoutMs: Self.answerTimeoutMs)
        while !outgoing.isEmpty {
            guard try progress(deadline) else { throw .timedOut(doing: "the daemon does not read") }
        }
    }

    private func flush() throws(ClientError) {
        var sent = 0
        defer { outgoing.removeFirst(sent) }
        while sent < outgoing.count {
            switch try stream.write(outgoing[sent...]) {
            case .bytes(let count): sent += count
            case .wouldBlock: return
            case .ended:
                // Its last words may still be readable.
                sent = outgoing.count
                try receive()
                if hasEnded { throw .closed(lastWords) }
            }
        }
    }

    /// Reads until there is no more, at most as much as one line may have: events must be taken in between.
    private func receive() throws(ClientError) {
        var taken = 0
        while taken < LineSplitter.lineMax {
            switch try stream.read(into: &splitter, &chunk) {
            case .bytes(let count): taken += count
            case .wouldBlock: return
            case .ended:
                hasEnded = true
                return
            }
            try takeLines()
        }
    }

    private func takeLines() throws(ClientError) {
        while let answer = try Self.nextAnswer(&splitter) { try take(answer) }
    }

    private static func nextAnswer(_ splitter: inout LineSplitter) throws(ClientError) -> RPCAnswer? {
        do {
            guard let line = try splitter.next() else { return nil }
            return try RPCAnswer(line: line)
        } catch {
            throw ClientError.protocolViolation("\(error)")
        }
    }

    private func take(_ answer: RPCAnswer) throws(ClientError) {
        switch answer {
        case .notification("event", let params):
            guard events.count - eventsTaken < Self.eventsMax else {
                throw .protocolViolation("more than \(Self.eventsMax) events while an answer was awaited")
            }
            events.append(ControlEvent(params: params))
        case .notification:
            break  // Additions of a later version.
        case .result(let id, let result):
            store(id, .success(result))
        case .error(let id, let error):
            if id.isNull { lastWords = error.message } else { store(id, .failure(error)) }
        }
    }

    /// Answers nobody asked for, or gave up on, are dropped.
    private func store(_ id: JSON, _ answer: Result<JSON, RPCError>) {
        guard let id = id.int, awaited.remove(id) != nil else { return }
        answers[id] = answer
    }
}
