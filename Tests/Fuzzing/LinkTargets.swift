internal import Seal
internal import Wire

/// Bytes from the network at each stage of a link. The first byte says which, the second in pieces of what size the
/// rest arrives.
func fuzzFrames(_ input: [UInt8]) throws {
    guard input.count >= 2 else { return }
    let pieces = Pieces(rest: input[2...], size: Int(input[1]) + 1)
    switch input[0] % 3 {
    case 0: try feedResponder(pieces)
    case 1: try feedInitiator(pieces)
    default: try feedOpener(commands: input[2...], pieceSize: Int(input[1]) + 1)
    }
}

/// An array of bytes as a socket would give it.
private struct Pieces: Sequence, IteratorProtocol {
    var rest: ArraySlice<UInt8>
    let size: Int

    mutating func next() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        defer { rest = rest.dropFirst(size) }
        return Array(rest.prefix(size))
    }
}

private func feedResponder(_ pieces: Pieces) throws {
    var responder = Ends.responder()
    try feed(pieces, expected: Ends.initiatorIdentity.publicKey) { (piece) throws(LinkError) in
        reached(try responder.receive(piece))
    }
}

private func feedInitiator(_ pieces: Pieces) throws {
    var initiator = Ends.initiator()
    try require((try? initiator.start()) != nil, "a handshake does not start")
    try feed(pieces, expected: Ends.responderIdentity.publicKey) { (piece) throws(LinkError) in
        reached(try initiator.receive(piece))
    }
}

/// What one piece has led to.
private enum Reached {
    case nothing
    case message([UInt8])
    case link(answer: [UInt8], peer: Bytes32, payload: [UInt8])
}

private func reached(_ step: consuming LinkStep) -> Reached {
    switch consume step {
    case .needMore: return .nothing
    case .write(let bytes): return .message(bytes)
    case .established(let answer, let session):
        return .link(answer: answer, peer: session.peerIdentity, payload: session.peerPayload)
    }
}

/// Nobody gets a link but the one who has the keys; after an error there is nothing but `closed`.
private func feed(
    _ pieces: Pieces, expected: Bytes32, receive: ([UInt8]) throws(LinkError) -> Reached
) throws {
    var isOver = false
    for piece in pieces {
        var failure: LinkError?
        var step = Reached.nothing
        do throws(LinkError) { step = try receive(piece) } catch { failure = error }
        if let failure {
            try require(!isOver || failure == LinkError(.closed), "another error than closed: \(failure)")
            isOver = true
            continue
        }
        try require(!isOver, "a handshake went on after its end")
        if case .link(_, let peer, _) = step {
            try require(peer == expected, "a link to somebody else")
            isOver = true
        }
    }
}

/// A stream of sealed messages with damage, as the commands want it: what is opened is what was sealed, in order, up to
/// the damage. Commands: 0 seal a message, 1 flip a bit, 2 drop a byte, 3 repeat a byte, 4 swap two bytes; each with
/// two bytes that say how long or where.
private func feedOpener(commands: ArraySlice<UInt8>, pieceSize: Int) throws {
    guard var link = Ends.link() else { throw Finding("two honest ends get no link") }
    var sealed: [[UInt8]] = []
    var stream: [UInt8] = []
    var rest = commands
    while rest.count >= 3, sealed.count < 16 {
        let command = Array(rest.prefix(3))
        rest = rest.dropFirst(3)
        let number = Int(command[1]) << 8 | Int(command[2])
        if command[0] % 5 == 0 {
            // Most are short, for speed; some need several frames.
            let message = [UInt8](repeating: command[2], count: command[2] == 0 ? number * 2 : number % 300)
            guard let frames = try? link.sealer.seal(message) else { throw Finding("sealing failed") }
            sealed.append(message)
            stream += frames
        } else {
            damage(&stream, command[0] % 5, at: number)
        }
    }
    var opened: [[UInt8]] = []
    var isOver = false
    // Small pieces of long streams would only take time.
    for piece in Pieces(rest: stream[...], size: max(pieceSize, stream.count / 64)) {
        var failure: LinkError?
        do throws(LinkError) {
            let messages = try link.opener.receive(piece)
            if !isOver { opened += messages } else if !messages.isEmpty { opened.append([]) }
        } catch {
            failure = error
        }
        try require(sealed.starts(with: opened), "not what was sealed")
        guard let failure else { continue }
        try require(!isOver || failure == LinkError(.closed), "another error than closed: \(failure)")
        isOver = true
    }
}

private func damage(_ stream: inout [UInt8], _ kind: UInt8, at number: Int) {
    guard !stream.isEmpty else { return }
    let index = number % stream.count
    switch kind {
    case 1: stream[index] ^= 1 << UInt8(number % 8)
    case 2: stream.remove(at: index)
    case 3: stream.insert(stream[index], at: index)
    default: stream.swapAt(index, (index + 1) % stream.count)
    }
}

/// Somebody between two ends changes what they say to each other, as the input has it: there is a link only where
/// nothing was changed, and each end knows the other. The payload that both claim is read from any bytes, too.
func fuzzHandshake(_ input: [UInt8]) throws {
    if let payload = LinkPayload(decoding: input) {
        try require(LinkPayload(decoding: payload.encoded) == payload, "written, and read as another payload")
    }
    var between = Between(rest: input[...])
    var initiator = Ends.initiator()
    var responder = Ends.responder()
    guard let first = try? initiator.start() else { throw Finding("a handshake does not start") }
    let second = between.pass(first) { (piece) throws(LinkError) in reached(try responder.receive(piece)) }
    guard case .message(let answer) = second else { return }
    let third = between.pass(answer) { (piece) throws(LinkError) in reached(try initiator.receive(piece)) }
    guard case .link(let last, let dialled, let payload) = third else { return }
    // What was added behind the first message the initiator cannot know: the responder takes it for a part of the
    // third.
    try require(!between.hasChanged || between.hasOnlyAdded, "a link of an end to which something else was said")
    try require(dialled == Ends.responderIdentity.publicKey && payload == [4, 5], "a link to somebody else")
    let end = between.pass(last) { (piece) throws(LinkError) in reached(try responder.receive(piece)) }
    guard case .link(_, let accepted, let claimed) = end else {
        return try require(between.hasChanged, "two honest ends get no link")
    }
    try require(!between.hasChanged || between.hasOnlyAdded, "a link of an end to which something else was said")
    try require(accepted == Ends.initiatorIdentity.publicKey && claimed == [1, 2, 3], "a link to somebody else")
}

/// Whoever carries the messages. Each has a command of three bytes: what is done to it, where, and with what; then a
/// byte that says where it is cut in two.
private struct Between {
    var rest: ArraySlice<UInt8>
    private(set) var hasChanged = false
    /// What was changed last is that something stands behind it: the beginning of what comes next.
    private(set) var hasOnlyAdded = false

    private mutating func next() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func pass(_ message: [UInt8], to receive: ([UInt8]) throws(LinkError) -> Reached) -> Reached {
        let (kind, place, value) = (next() % 5, Int(next()), next())
        var bytes = message
        let index = message.isEmpty ? 0 : place % message.count
        switch kind {
        case 1: bytes[index] ^= value
        case 2: bytes.removeLast(min(bytes.count, place))
        case 3: bytes += Array(repeating: value, count: place)
        case 4: bytes.replaceSubrange(index..., with: rest.prefix(message.count - index))
        default: break
        }
        if bytes != message {
            hasOnlyAdded = !hasChanged && bytes.starts(with: message)
            hasChanged = true
        }
        let cut = bytes.isEmpty ? 0 : Int(next()) % bytes.count
        var last = Reached.nothing
        for piece in [bytes[..<cut], bytes[cut...]] where !piece.isEmpty {
            do throws(LinkError) {
                let step = try receive(Array(piece))
                if case .nothing = step { continue }
                last = step
            } catch {
                return .nothing
            }
        }
        return last
    }
}
