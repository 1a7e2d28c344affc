internal import ControlAPI

/// What people are called on the screen. Names are not unique: where two people share one, each gets a part of their
/// uid behind it, so that neither can pass for the other.
struct Names {
    private var byUID: [String: String] = [:]
    private var uses: [String: Int] = [:]

    /// Learns or changes a person's name. Returns the old one if it changed.
    @discardableResult
    mutating func set(_ uid: String, _ name: String) -> String? {
        let shown = Escaper.escape(name)
        let old = byUID.updateValue(shown, forKey: uid)
        guard old != shown else { return nil }
        if let old { uses[Self.folded(old), default: 1] -= 1 }
        uses[Self.folded(shown), default: 0] += 1
        return old
    }

    /// The name to show, safe; the beginning of the uid for somebody without one.
    func shown(_ uid: String) -> String {
        guard let name = byUID[uid], !name.isEmpty else { return String(Escaper.escape(uid).prefix(8)) }
        guard uses[Self.folded(name), default: 0] > 1 else { return name }
        return tagged(uid)
    }

    /// The name with a part of the uid, whoever else has it.
    func tagged(_ uid: String) -> String {
        let name = byUID[uid] ?? ""
        return "\(name.isEmpty ? String(Escaper.escape(uid).prefix(8)) : name)~\(Escaper.escape(uid).suffix(4))"
    }

    /// Names that look alike but for case and width count as shared.
    private static func folded(_ name: String) -> String {
        name.lowercased()
    }
}
