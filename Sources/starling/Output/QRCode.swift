internal import CQREncode

/// A text as a QR code (ISO/IEC 18004), to be drawn in a terminal. Bytes as they are, error correction level L: a
/// screen has no scratches, and a smaller code is easier to scan.
struct QRCode {
    /// Modules in a row, 21 to 177.
    let width: Int
    /// Row by row, without a margin.
    private let dark: [Bool]

    /// Empty modules around the code: readers want four, and manage with two on a screen.
    private static let margin = 2

    /// Nil for an empty text, one of more than 2,953 bytes, and one with a NUL.
    init?(_ text: String) {
        guard !text.isEmpty, !text.utf8.contains(0), let code = unsafe QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L)
        else { return nil }
        defer { unsafe QRcode_free(code) }
        let width = unsafe Int(code.pointee.width)
        guard width > 0, let data = unsafe code.pointee.data else { return nil }
        self.width = width
        // The lowest bit is the colour; the others tell what a module is for.
        dark = (0..<(width * width)).map { unsafe data[$0] & 1 == 1 }
    }

    /// Columns of the lines, with the margin.
    var columns: Int { width + 2 * QRCode.margin }

    /// Whether a module is dark; those beyond the edge are not.
    func isDark(_ row: Int, _ column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return dark[row * width + column]
    }

    /// The code with two rows of modules a line. What is light is drawn, as on most terminals the ground is dark; with
    /// colour both are said, so that it is right on any.
    func lines(isColoured: Bool) -> [String] {
        let rows = stride(from: -QRCode.margin, to: width + QRCode.margin, by: 2)
        return rows.map { row in
            var line = ""
            for column in -QRCode.margin..<(width + QRCode.margin) {
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (false, false): line += "█"
                case (false, true): line += "▀"
                case (true, false): line += "▄"
                case (true, true): line += " "
                }
            }
            return isColoured ? "\u{1b}[40;97m\(line)\u{1b}[0m" : line
        }
    }
}
