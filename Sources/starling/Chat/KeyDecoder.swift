/// Turns the bytes of a terminal into keys (ECMA-48 sequences as xterm sends them, bracketed paste), however they are
/// cut into pieces.
struct KeyDecoder: Sendable {
    /// A longer paste is more than a message may have: it is dropped whole, since a part of it would be sent as if it
    /// were all.
    static let pasteMax = LineEditor.textMax
    /// No control sequence of a key is longer.
    private static let sequenceMax = 32
    /// ^C.
    private static let interrupt: UInt8 = 0x03
    private static let pasteEnd = Array("\u{1b}[201~".utf8)

    private var pending: [UInt8] = []
    private var pasted: [UInt8]?
    private var isPasteTooLong = false

    /// An escape that nothing follows within this is the key.
    private static let escapeMs: Int64 = 50
    /// A paste that nothing comes of for so long has lost its end.
    private static let pasteMs: Int64 = 5_000

    /// Whether something has begun and not ended.
    var isWaiting: Bool { patienceMs != nil }

    /// If nothing follows for so long after the last byte, call ``timeOut()``; nil while nothing has begun.
    var patienceMs: Int64? { pasted != nil ? Self.pasteMs : pending.isEmpty ? nil : Self.escapeMs }

    mutating func feed(_ bytes: some Collection<UInt8>) -> [Key] {
        // Typed into a paste that does not end: a terminal sends a paste in larger pieces.
        if pasted != nil, bytes.elementsEqual([Self.interrupt]) { return timeOut() }
        pending.append(contentsOf: bytes)
        var keys: [Key] = []
        while let key = next() {
            if case .text(let more) = key, case .text(let text)? = keys.last {
                keys[keys.count - 1] = .text(text + more)
            } else {
                keys.append(key)
            }
        }
        return keys
    }

    /// What has begun will not go on: a lone escape is the key Escape, and of a paste there is no more.
    mutating func timeOut() -> [Key] {
        guard isWaiting else { return [] }
        if pasted != nil {
            collect(pending.count)
            return [endPaste()]
        }
        let wasEscape = pending == [0x1B]
        pending = []
        return wasEscape ? [.escape] : []
    }

    private mutating func next() -> Key? {
        while true {
            if pasted != nil {
                return paste()
            }
            guard let first = pending.first else { return nil }
            switch first {
            case 0x1B:
                guard let (key, count) = escapeSequence() else { return nil }
                pending.removeFirst(count)
                if let key { return key }
            case 0x00..<0x20, 0x7F:
                pending.removeFirst()
                if let key = Self.control(first) { return key }
            default:
                guard let (text, count) = character() else { return nil }
                pending.removeFirst(count)
                if !text.isEmpty { return .text(text) }
            }
        }
    }

    private static func control(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x0D, 0x0A: .enter
        case 0x09: .tab
        case 0x7F, 0x08: .backspace
        case 0x01...0x1A: .control(Character(Unicode.Scalar(byte + 0x60)))
        default: nil
        }
    }

    /// One character's UTF-8; empty text for bytes that are none; nil if its end has not come yet.
    private func character() -> (text: String, count: Int)? {
        let size: Int
        switch pending[0] {
        case 0xC2...0xDF: size = 2
        case 0xE0...0xEF: size = 3
        case 0xF0...0xF4: size = 4
        case 0x20..<0x7F: size = 1
        default: return ("", 1)
        }
        let available = pending.prefix(size)
        guard available.dropFirst().allSatisfy({ $0 & 0xC0 == 0x80 }) else { return ("", 1) }
        guard available.count == size else { return nil }
        guard let text = String(validating: available, as: UTF8.self) else { return ("", size) }
        return (text, size)
    }

    /// The key of a sequence that begins with escape and its length; no key for one that means nothing here; nil if its
    /// end has not come yet.
    private mutating func escapeSequence() -> (key: Key?, count: Int)? {
        guard pending.count > 1 else { return nil }
        switch pending[1] {
        case UInt8(ascii: "["):
            guard let end = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
                return pending.count > Self.sequenceMax ? (nil, pending.count) : nil
            }
            let parameters = String(decoding: pending[2..<end], as: UTF8.self)
            if pending[end] == UInt8(ascii: "~"), parameters == "200" {
                pasted = []
                return (nil, end + 1)
            }
            return (Self.csi(parameters, pending[end]), end + 1)
        case UInt8(ascii: "O"):
            guard pending.count > 2 else { return nil }
            return (Self.csi("", pending[2]), 3)
        case 0x1B:
            return (.escape, 1)
        default:
            return (Self.alt(pending[1]), 2)
        }
    }

    private static func alt(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x0D, 0x0A: .newline
        case 0x7F, 0x08: .deleteWordLeft
        case UInt8(ascii: "b"): .wordLeft
        case UInt8(ascii: "f"): .wordRight
        case UInt8(ascii: "d"): .deleteWordRight
        default: nil
        }
    }

    /// A control sequence: `parameters` as `1;5`, where the second is 1 plus Shift 1, Alt 2, Ctrl 4.
    private static func csi(_ parameters: String, _ final: UInt8) -> Key? {
        let numbers = parameters.split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 1 }
        let modifiers = numbers.count > 1 ? max(0, min(numbers[1], 16) - 1) : 0
        let byWord = modifiers & 6 != 0
        switch final {
        case UInt8(ascii: "A"): return .up
        case UInt8(ascii: "B"): return .down
        case UInt8(ascii: "C"): return byWord ? .wordRight : .right
        case UInt8(ascii: "D"): return byWord ? .wordLeft : .left
        case UInt8(ascii: "H"): return .home
        case UInt8(ascii: "F"): return .end
        case UInt8(ascii: "~"):
            switch numbers.first {
            case 1, 7: return .home
            case 4, 8: return .end
            case 3: return byWord ? .deleteWordRight : .delete
            default: return nil
            }
        default: return nil
        }
    }

    /// The pasted text once its end has come.
    private mutating func paste() -> Key? {
        let end = Self.find(Self.pasteEnd, in: pending)
        // Without the end, the last bytes may be the beginning of it.
        let count = end ?? max(0, pending.count - Self.pasteEnd.count + 1)
        collect(count)
        guard end != nil else { return nil }
        pending.removeFirst(Self.pasteEnd.count)
        return endPaste()
    }

    /// Takes so many bytes into the pasted text.
    private mutating func collect(_ count: Int) {
        let room = max(0, Self.pasteMax - (pasted?.count ?? 0))
        if count > room { isPasteTooLong = true }
        pasted?.append(contentsOf: pending.prefix(min(count, room)))
        pending.removeFirst(count)
    }

    private mutating func endPaste() -> Key {
        defer { (pasted, isPasteTooLong) = (nil, false) }
        return isPasteTooLong ? .pasteTooLong : .paste(String(decoding: pasted ?? [], as: UTF8.self))
    }

    private static func find(_ needle: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= needle.count else { return nil }
        return (0...(bytes.count - needle.count)).first { bytes[$0...].starts(with: needle) }
    }
}
