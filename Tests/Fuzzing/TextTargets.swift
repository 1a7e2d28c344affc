internal import ControlAPI
internal import Discovery
internal import Wire

/// A stream of bytes from a client, cut anywhere: every line is refused with an answer or read, however it was cut;
/// and JSON that was read is written and read again as the same. The first byte says in pieces of what size it comes.
func fuzzJSONRPC(_ input: [UInt8]) throws {
    guard let first = input.first else { return }
    let stream = input.dropFirst()
    let whole = lines(of: stream, chunkMax: stream.count)
    try require(lines(of: stream, chunkMax: Int(first) + 1) == whole, "lines depend on how the stream was cut")
    for line in whole {
        if case .refused(let refusal) = RPCIncoming(line: line[...]) { try check(refusal.response) }
        _ = try? RPCAnswer(line: line[...])
        if let json = try? JSON.parse(line) { try check(json) }
    }
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

private func check(_ json: JSON) throws {
    let line = RPCLine.terminated(json)
    try require(line.last == 10 && !line.dropLast().contains(10), "a message is not one line")
    try require((try? JSON.parse(line.dropLast())) == json, "written, and read as something else")
}

/// What a peer sends behind a handshake is refused, or read, and then written and read as the same.
func fuzzMessages(_ input: [UInt8]) throws {
    guard let message = try? PeerMessage.decode(input) else { return }
    try require((try? PeerMessage.decode(message.encoded)) == message, "written, and read as something else")
}

/// A TXT record is refused or read; keys are as they are compared, nothing grows, and what fits is written and read as
/// the same.
func fuzzTXT(_ input: [UInt8]) throws {
    guard let values = TXTRecord.decode(input) else { return }
    try require(input.count <= TXTRecord.receivedSizeMax, "longer than any record that is looked at")
    let size = values.reduce(0) { $0 + $1.key.utf8.count + $1.value.count }
    try require(size <= input.count, "more was read than is there")
    try require(values.keys.allSatisfy { $0 == $0.lowercased() && !$0.isEmpty && !$0.contains("=") }, "a key is none")
    let entries = values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    guard let again = try? TXTRecord.encode(entries) else { return }
    try require(TXTRecord.decode(again) == values, "written, and read as something else")
}

/// Whatever is shown obeys no terminal and hides nothing; what is safe stays as it is, and JSON the same JSON.
func fuzzEscaper(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    for lines in [Escaper.Lines.single, .kept] {
        let shown = Escaper.escape(text, lines: lines)
        for scalar in shown.unicodeScalars {
            let isLineEnd = scalar == "\n" && lines == .kept
            try require(isLineEnd || !obeys(scalar), "U+\(String(scalar.value, radix: 16)) goes to the terminal")
        }
        let again = Escaper.escape(shown, lines: lines)
        try require(Array(again.utf8) == Array(shown.utf8), "what is safe was changed")
    }
    let json = JSON.string(text)
    let shown = Escaper.escape(json: json.description)
    try require(!shown.unicodeScalars.contains(where: obeys), "JSON obeys a terminal")
    try require((try? JSON.parse(Array(shown.utf8))) == json, "escaped JSON is other JSON")
}

private func obeys(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x200B, 0x200E, 0x200F, 0x61C, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
}

/// Any name becomes one that a file may have: one component, neither hidden nor an option, that one sees as it is; and
/// such a name stays as it is.
func fuzzNames(_ input: [UInt8]) throws {
    let name = FileName.safe(String(decoding: input, as: UTF8.self))
    try require(!name.isEmpty && name.utf8.count <= FileName.bytesMax, "\(name.utf8.count) bytes")
    try require(!name.utf8.contains(0) && !name.utf8.contains(0x2F), "NUL or a slash")
    try require(name.first.map { !".-~ ".contains($0) } ?? false, "begins with \(name.prefix(1))")
    try require(!name.unicodeScalars.contains(where: obeys), "obeys a terminal")
    try require(Array(Escaper.escape(name).utf8) == Array(name.utf8) || startsWithMark(name), "is shown as another")
    try require(Array(FileName.safe(name).utf8) == Array(name.utf8), "what is safe was changed")
}

/// The escaper gives a mark that has nothing to stand on a circle.
private func startsWithMark(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first else { return false }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .spacingMark: return true
    default: return false
    }
}
