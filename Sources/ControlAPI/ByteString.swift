/// A string compared and hashed by its bytes. Swift's own equality is canonical equivalence: it takes a composed and
/// a decomposed é for one name, while a tree holds both.
struct ByteString: Hashable {
    let text: String

    static func == (left: ByteString, right: ByteString) -> Bool {
        sameBytes(left.text, right.text)
    }

    func hash(into hasher: inout Hasher) {
        let bytes = text.utf8.span
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

/// Whether two strings have the same UTF-8.
func sameBytes(_ left: String, _ right: String) -> Bool {
    let (left, right) = (left.utf8.span, right.utf8.span)
    guard left.count == right.count else { return false }
    for index in 0..<left.count where left[index] != right[index] { return false }
    return true
}
