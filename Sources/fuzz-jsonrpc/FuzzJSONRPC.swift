internal import ControlAPI

/// A stream of bytes from a client, cut anywhere: every line is refused with an answer or read, however it was cut;
/// and JSON that was read is written and read again as the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSONRPC(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = input.first else { return 0 }
    let stream = input.dropFirst()
    let whole = lines(of: stream, chunkMax: stream.count)
    precondition(lines(of: stream, chunkMax: Int(first) + 1) == whole, "lines depend on how the stream was cut")
    for line in whole {
        if case .refused(let refusal) = RPCIncoming(line: line[...]) { check(refusal.response) }
        _ = try? RPCAnswer(line: line[...])
        if let json = try? JSON.parse(line) { check(json) }
    }
    return 0
}

/// The lines of a stream that arrives in chunks; they end where one is too long.
private func lines(of stream: ArraySlice<UInt8>, chunkMax: Int) -> [[UInt8]] {
    var splitter = LineSplitter(lineMax: 1_024)
    var found: [[UInt8]] = []
    var rest = stream
    while !rest.isEmpty {
        splitter.append(Array(rest.prefix(chunkMax)))
        rest = rest.dropFirst(chunkMax)
        do throws(LineError) {
            while let line = try splitter.next() { found.append(Array(line)) }
        } catch {
            break
        }
    }
    return found
}

private func check(_ json: JSON) {
    let line = RPCLine.terminated(json)
    precondition(line.last == 10 && !line.dropLast().contains(10), "a message is not one line")
    precondition((try? JSON.parse(line.dropLast())) == json, "written, and read as something else")
}
