/// Colour and weight of text on a terminal (ECMA-48, SGR).
struct Style: Sendable {
    let isColoured: Bool

    enum Attribute: Sendable, Equatable {
        case bold, dim, red, green, yellow, cyan
        /// One of the terminal's 256 colours.
        case palette(Int)

        var code: String {
            switch self {
            case .bold: "1"
            case .dim: "2"
            case .red: "31"
            case .green: "32"
            case .yellow: "33"
            case .cyan: "36"
            case .palette(let index): "38;5;\(index)"
            }
        }
    }

    func apply(_ text: String, _ attributes: [Attribute]) -> String {
        guard isColoured, !attributes.isEmpty, !text.isEmpty else { return text }
        return "\u{1b}[\(attributes.map(\.code).joined(separator: ";"))m\(text)\u{1b}[0m"
    }

    /// A text as it is seen: without what ``apply(_:_:)`` has put around it.
    static func without(_ text: String) -> String {
        var seen = ""
        var isCode = false
        for scalar in text.unicodeScalars {
            if scalar == "\u{1b}" { isCode = true }
            if !isCode { seen.unicodeScalars.append(scalar) }
            if isCode, scalar == "m" { isCode = false }
        }
        return seen
    }

    /// Colours that are readable on both light and dark ground.
    private static let names = [32, 34, 36, 69, 74, 98, 103, 109, 132, 136, 139, 166, 168, 172, 175, 64]

    /// Always the same colour for the same person (FNV-1a over the uid).
    static func colour(of uid: String) -> Attribute {
        var hash: UInt32 = 0x811C_9DC5
        for byte in uid.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return .palette(names[Int(hash % UInt32(names.count))])
    }
}
