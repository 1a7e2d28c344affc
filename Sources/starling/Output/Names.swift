internal import ControlAPI

/// What people are called on the screen. Names are not unique: where two people share one, each gets a part of their
/// uid behind it, so that neither can pass for the other.
struct Names {
    private var byUID: [String: String] = [:]
    private var uses: [String: Int] = [:]
    /// How many have a name with the same short tag: it is short enough to be made on purpose.
    private var tagUses: [String: Int] = [:]

    /// Learns or changes a person's name. Returns the old one if it changed.
    @discardableResult
    mutating func set(_ uid: String, _ name: String) -> String? {
        let shown = Escaper.escape(name)
        let old = byUID.updateValue(shown, forKey: uid)
        guard old != shown else { return nil }
        if let old {
            uses[Self.folded(old), default: 1] -= 1
            tagUses[Self.tagged(old, uid), default: 1] -= 1
        }
        uses[Self.folded(shown), default: 0] += 1
        tagUses[Self.tagged(shown, uid), default: 0] += 1
        return old
    }

    /// The name to show, safe; the beginning of the uid for somebody without one.
    func shown(_ uid: String) -> String {
        guard let name = byUID[uid], !name.isEmpty else { return String(Escaper.escape(uid).prefix(8)) }
        // A name may also be chosen so that it looks like somebody else's with a tag.
        guard uses[Self.folded(name), default: 0] > 1 || name.contains("~") else { return name }
        return tagged(uid)
    }

    /// The name with a part of the uid, whoever else has it.
    func tagged(_ uid: String) -> String {
        let name = byUID[uid] ?? ""
        let tag = PersonTag.of(Escaper.escape(uid), isShared: tagUses[Self.tagged(name, uid), default: 0] > 1)
        return "\(name.isEmpty ? String(Escaper.escape(uid).prefix(8)) : name)~\(tag)"
    }

    /// Names that look alike but for case, width and spaces count as shared.
    private static func folded(_ name: String) -> String {
        // The full-width forms of ASCII.
        let wide = UInt32(0xFF01)...0xFF5E
        var plain = String.UnicodeScalarView()
        for scalar in name.unicodeScalars where !scalar.properties.isWhitespace {
            plain.append(wide.contains(scalar.value) ? Unicode.Scalar(scalar.value - 0xFEE0) ?? scalar : scalar)
        }
        return String(plain).lowercased()
    }

    private static func tagged(_ name: String, _ uid: String) -> String {
        "\(folded(name))~\(PersonTag.of(uid))"
    }
}
