internal import CLimit
internal import ControlAPI
internal import Glibc

extension LineClient {
    private static let pauseMs: Int32 = 500

    struct Burst {
        /// From the first request to the last event.
        let ns: Int64
        /// The events that came, a line each.
        let events: [UInt8]
    }

    /// Writes all requests as fast as the daemon takes them and waits until another client has an event for each, or
    /// nothing comes any more.
    ///
    /// - Parameters:
    ///   - eventBytes: at least as many as an event takes.
    ///   - isOver: asked when nothing has come for a moment; once it is true, what is missing does not come any more.
    func burst(
        _ requests: [UInt8], count: Int, to receiver: LineClient, eventBytes: Int,
        isOver: () throws -> Bool
    ) throws -> Burst {
        var events = [UInt8](repeating: 0, count: count * eventBytes)
        let room = events.count
        let (ns, filled) = try unsafe requests.withUnsafeBytes { requests in
            try unsafe events.withUnsafeMutableBytes { events in
                var burst = unsafe limit_burst(
                    sender: descriptor, receiver: receiver.descriptor, requests: requests.baseAddress,
                    count: requests.count, answers: Int32(count), events: Int32(count), into: events.baseAddress,
                    room: room, filled: 0, start_ns: 0, ns: 0)
                var wasOver = false
                while true {
                    try Interruption.check()
                    let error = unsafe limit_burst_run(&burst, Self.pauseMs)
                    if error == 0 { break }
                    guard error == ETIMEDOUT else {
                        throw BenchError.system(doing: "a burst of \(count) messages", errno: error)
                    }
                    guard unsafe burst.answers == 0 else { continue }
                    // Once more: what had just been committed may be under way.
                    if wasOver { break }
                    wasOver = try isOver()
                }
                return unsafe (burst.ns, burst.filled)
            }
        }
        events.removeLast(events.count - filled)
        return Burst(ns: ns, events: events)
    }

    /// What many readers had of what one writer wrote at a steady pace.
    struct Crowd {
        let latencies: Samples
        /// Events that should have come and did not, or not as the next one.
        let dropped: Int
    }

    /// Sends messages to a channel at a steady pace and waits until each reader has an event for each.
    func crowd(
        _ channel: String, perSecond: Int, messages: Int, textBytes: Int, to readers: [LineClient]
    ) throws(BenchError) -> Crowd {
        // Number, time and a space each.
        let padding = String(repeating: "x", count: max(0, textBytes - 7 - 1 - 19 - 1))
        let head = #"{"jsonrpc":"2.0","id":1,"method":"message.send","params":{"to":"\#(channel)","text":""#
        var latencies = [Int64](repeating: 0, count: messages * readers.count)
        let (error, delivered, misplaced) = unsafe latencies.withUnsafeMutableBufferPointer { buffer in
            var result = unsafe limit_crowd(latencies_ns: buffer.baseAddress, delivered: 0, misplaced: 0)
            let error = unsafe limit_crowd_run(
                descriptor, head, " \(padding)\"}}", Int32(perSecond), Int32(messages), readers.map(\.descriptor),
                Int32(readers.count), &result)
            return unsafe (error, Int(result.delivered), Int(result.misplaced))
        }
        guard error == 0 else { throw .system(doing: "a crowd of \(readers.count) clients", errno: error) }
        var samples = Samples()
        for ns in latencies.prefix(delivered) { samples.add(ns: ns) }
        return Crowd(latencies: samples, dropped: max(0, messages * readers.count - delivered) + misplaced)
    }
}
