/// Why a text is not JSON, and where.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was wrong. More may be added.
    public enum Reason: Sendable, Equatable {
        case endOfText
        case expectedValue
        case expectedCommaOrEnd
        case expectedName
        case expectedColon
        case trailingBytes
        case invalidUTF8
        case controlCharacter
        case invalidEscape
        case loneSurrogate
        case invalidNumber
        case numberOutOfRange
        case duplicateName
        case tooDeep
    }

    /// Offset of the offending byte from the start of what was read, 0 for the first.
    public var offset: Int
    public var reason: Reason

    public init(offset: Int, reason: Reason) {
        self.offset = offset
        self.reason = reason
    }

    /// Words with the offset; nothing of the text itself is repeated.
    public var description: String {
        "\(reason.words) at byte \(offset)"
    }
}

extension JSONError.Reason {
    var words: String {
        switch self {
        case .endOfText: "the text ends too early"
        case .expectedValue: "expected a value"
        case .expectedCommaOrEnd: "expected a comma or the closing bracket"
        case .expectedName: "expected a member name in double quotes"
        case .expectedColon: "expected a colon"
        case .trailingBytes: "something follows the value"
        case .invalidUTF8: "invalid UTF-8"
        case .controlCharacter: "a control character must be escaped"
        case .invalidEscape: "invalid escape"
        case .loneSurrogate: "half of a surrogate pair"
        case .invalidNumber: "invalid number"
        case .numberOutOfRange: "the number is too large"
        case .duplicateName: "the member name is used twice"
        case .tooDeep: "nested deeper than \(JSON.depthMax)"
        }
    }
}
