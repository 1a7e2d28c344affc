/// What stands behind a name that several people have, as in `bob~x7Qa`: the end of the uid.
public enum PersonTag {
    /// Characters that are enough where nobody means harm.
    public static let lengthMin = 4
    /// Four characters are 22 bits, and a key with a given end is made in minutes. So where two people of one name
    /// share them more are shown: with so many, 70 bits, nobody makes one.
    private static let lengthMax = 12

    /// The end of a uid.
    ///
    /// - `isShared`: whether somebody else of the same name has the same short one.
    public static func of(_ uid: String, isShared: Bool = false) -> String {
        String(uid.suffix(isShared ? lengthMax : lengthMin))
    }

    /// The ends by which people of one name are told apart, in the same order.
    public static func telling(_ uids: [String]) -> [String] {
        var counts: [String: Int] = [:]
        for uid in uids { counts[of(uid), default: 0] += 1 }
        return uids.map { of($0, isShared: counts[of($0), default: 0] > 1) }
    }
}
