/// The receiving direction of a link: opens frames and puts messages together again. See `FrameSealer` for the format.
///
/// Holds at most one frame and one message of `LinkLimits.messageSizeMax`. Not copyable: a copy would accept again what
/// the original has already accepted.
public struct FrameOpener: ~Copyable, Sendable {
    private var cipher: CipherState
    /// The frame being received, from its length on; its memory is used again for the next.
    private var frame: [UInt8] = []
    /// Data of the earlier frames of the message being received.
    private var assembled: [UInt8] = []
    private var isOver = false

    /// Bytes of the message and the frame that have begun and are not complete.
    public var pendingBytes: Int { assembled.count + frame.count }

    init(key: Secret) {
        cipher = CipherState(key: key)
    }

    /// Takes bytes in any pieces; the messages that are complete with them, in order.
    ///
    /// Throws for a changed, repeated, missing or reordered frame (`authenticationFailed`), for lengths and bytes that
    /// the protocol does not have (`malformed`) and for a message over the limit (`messageTooLong`). Every later call
    /// throws `closed`.
    public mutating func receive(_ bytes: [UInt8]) throws(LinkError) -> [[UInt8]] {
        guard !isOver else { throw LinkError(.closed) }
        isOver = true
        var messages: [[UInt8]] = []
        var input = bytes[...]
        while try takeFrame(from: &input) {
            if let message = try openFrame() { messages.append(message) }
            frame.removeAll(keepingCapacity: true)
        }
        isOver = false
        return messages
    }

    /// Moves from the front of `input` what the frame still lacks. Whether the frame is complete.
    private mutating func takeFrame(from input: inout ArraySlice<UInt8>) throws(LinkError) -> Bool {
        while frame.count < 2, let byte = input.popFirst() { frame.append(byte) }
        guard frame.count >= 2 else { return false }
        let size = Int(frame[0]) << 8 | Int(frame[1])
        guard size >= LinkLimits.frameSizeMin else { throw LinkError(.malformed) }
        let wanted = input.prefix(2 + size - frame.count)
        frame += wanted
        input = input.dropFirst(wanted.count)
        return frame.count == 2 + size
    }

    /// Opens the complete frame. The message, if it was the last of one.
    private mutating func openFrame() throws(LinkError) -> [UInt8]? {
        do throws(NoiseError) {
            try cipher.open(&frame, at: 2, count: frame.count - 2)
        } catch {
            throw LinkError(noise: error)
        }
        if cipher.nonce.isMultiple(of: LinkLimits.framesPerKey) { cipher.rekey() }
        let data = frame[3..<(frame.count - CipherState.overhead)]
        guard assembled.count + data.count <= LinkLimits.messageSizeMax else { throw LinkError(.messageTooLong) }
        switch frame[2] {
        case 0:
            guard !assembled.isEmpty else { return Array(data) }
            assembled += data
            let message = assembled
            assembled = []
            return message
        case 1:
            // Frames that carry nothing and promise more would be work without an end.
            guard !data.isEmpty else { throw LinkError(.malformed) }
            assembled += data
            return nil
        default:
            throw LinkError(.malformed)
        }
    }
}
