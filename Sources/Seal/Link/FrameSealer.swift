/// The sending direction of a link: cuts messages into frames and seals them.
///
/// A frame is a two-byte big-endian length and that many bytes of ChaCha20-Poly1305. Its plaintext begins with 0 in the
/// last frame of a message and with 1 where more follow. After every 65,536 frames the key is replaced by the next
/// (Noise's REKEY). Not copyable: two copies would seal different texts with one nonce, which gives both away.
public struct FrameSealer: ~Copyable, Sendable {
    private var cipher: CipherState

    init(key: Secret) {
        cipher = CipherState(key: key)
    }

    /// The frames of one message, ready to be written in order. An empty message is a message.
    ///
    /// Throws `messageTooLong` over `LinkLimits.messageSizeMax` and leaves the link as it was.
    public mutating func seal(_ message: [UInt8]) throws(LinkError) -> [UInt8] {
        guard message.count <= LinkLimits.messageSizeMax else { throw LinkError(.messageTooLong) }
        let dataMax = LinkLimits.frameDataSizeMax
        let frameCount = max(1, (message.count + dataMax - 1) / dataMax)
        var output: [UInt8] = []
        output.reserveCapacity(message.count + frameCount * (2 + LinkLimits.frameSizeMin))
        var rest = message[...]
        for index in 1...frameCount {
            let data = rest.prefix(dataMax)
            rest = rest.dropFirst(data.count)
            let size = data.count + LinkLimits.frameSizeMin
            output.append(UInt8(truncatingIfNeeded: size >> 8))
            output.append(UInt8(truncatingIfNeeded: size))
            let start = output.count
            output.append(index < frameCount ? 1 : 0)
            output += data
            output.append(contentsOf: repeatElement(0, count: CipherState.overhead))
            do throws(NoiseError) {
                try cipher.seal(&output, at: start, count: data.count + 1)
            } catch {
                throw LinkError(noise: error)
            }
            if cipher.nonce.isMultiple(of: LinkLimits.framesPerKey) { cipher.rekey() }
        }
        return output
    }
}
