internal import Seal

/// Bytes from the network at each stage of a link. The first byte says which, the second in pieces of what size the
/// rest arrives.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count >= 2 else { return 0 }
    let pieces = Pieces(rest: input[2...], size: Int(input[1]) + 1)
    switch input[0] % 3 {
    case 0: feedResponder(pieces)
    case 1: feedInitiator(pieces)
    default: feedOpener(commands: input[2...], pieceSize: Int(input[1]) + 1)
    }
    return 0
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

private func feedResponder(_ pieces: Pieces) {
    var responder = Ends.responder()
    feed(pieces, expected: Ends.initiatorIdentity.publicKey) { (piece) throws(LinkError) in
        try responder.receive(piece)
    }
}

private func feedInitiator(_ pieces: Pieces) {
    var initiator = Ends.initiator()
    guard (try? initiator.start()) != nil else { preconditionFailure("a handshake does not start") }
    feed(pieces, expected: Ends.responderIdentity.publicKey) { (piece) throws(LinkError) in
        try initiator.receive(piece)
    }
}

/// Nobody gets a link but the one who has the keys; after an error there is nothing but `closed`.
private func feed(_ pieces: Pieces, expected: Bytes32, receive: ([UInt8]) throws(LinkError) -> LinkStep) {
    var isOver = false
    for piece in pieces {
        do throws(LinkError) {
            let step = try receive(piece)
            precondition(!isOver, "a handshake went on after its end")
            switch consume step {
            case .established(_, let session):
                precondition(session.peerIdentity == expected, "a link to somebody else")
                isOver = true
            default: break
            }
        } catch {
            precondition(!isOver || error == LinkError(.closed), "another error than closed: \(error)")
            isOver = true
        }
    }
}

/// A stream of sealed messages with damage, as the commands want it: what is opened is what was sealed, in order, up to
/// the damage. Commands: 0 seal a message, 1 flip a bit, 2 drop a byte, 3 repeat a byte, 4 swap two bytes; each with
/// two bytes that say how long or where.
private func feedOpener(commands: ArraySlice<UInt8>, pieceSize: Int) {
    guard var link = Ends.link() else { preconditionFailure("two honest ends get no link") }
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
            guard let frames = try? link.sealer.seal(message) else { preconditionFailure("sealing failed") }
            sealed.append(message)
            stream += frames
        } else {
            damage(&stream, command[0] % 5, at: number)
        }
    }
    var opened = 0
    var isOver = false
    // Small pieces of long streams would only take time.
    for piece in Pieces(rest: stream[...], size: max(pieceSize, stream.count / 64)) {
        do throws(LinkError) {
            for message in try link.opener.receive(piece) {
                precondition(!isOver && opened < sealed.count && message == sealed[opened], "not what was sealed")
                opened += 1
            }
        } catch {
            precondition(!isOver || error == LinkError(.closed), "another error than closed: \(error)")
            isOver = true
        }
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
