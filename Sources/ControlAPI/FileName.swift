/// Names of files that others have chosen.
public enum FileName {
    /// UTF-8 bytes of a name: with what a program adds to it while it writes, a file system takes 255.
    public static let bytesMax = 200
    /// With its dot, of what is kept when a name is cut.
    private static let extensionBytesMax = 16

    /// A name that a file may have here, as like the given one as can be: one component of a path, that is neither
    /// hidden nor an option to any program, of characters that one sees.
    public static func safe(_ name: String) -> String {
        let parts = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }
        let last = parts.last.map { String.UnicodeScalarView($0.map(visible)) } ?? String.UnicodeScalarView()
        var scalars = last.drop(while: isRefusedFirst)
        scalars = trimmed(scalars)
        guard !scalars.isEmpty else { return "file" }
        return cut(scalars)
    }

    /// Control characters, line ends and what nobody sees, as characters that turn the direction of writing.
    private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let properties = scalar.properties
        if properties.isWhitespace { return scalar.properties.generalCategory == .spaceSeparator ? " " : "_" }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .unassigned, .privateUse: return "_"
        default: return properties.isDefaultIgnorableCodePoint ? "_" : scalar
        }
    }

    private static func isRefusedFirst(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar == "-" || scalar == " " || scalar == "~"
    }

    private static func trimmed(_ scalars: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        var scalars = scalars
        while let last = scalars.last, last == " " || last == "." { scalars.removeLast() }
        return scalars
    }

    private static func cut(_ scalars: Substring.UnicodeScalarView) -> String {
        let whole = String(scalars)
        guard whole.utf8.count > bytesMax else { return whole }
        var end = ""
        if let dot = scalars.lastIndex(of: "."), dot > scalars.startIndex { end = String(scalars[dot...]) }
        if end.utf8.count > extensionBytesMax { end = "" }
        var (stem, left) = (String.UnicodeScalarView(), bytesMax - end.utf8.count)
        for scalar in scalars {
            left -= UTF8.width(scalar)
            guard left >= 0 else { break }
            stem.append(scalar)
        }
        return String(trimmed(stem[...])) + end
    }
}
