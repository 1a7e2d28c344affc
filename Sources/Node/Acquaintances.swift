internal import Seal
internal import Store
internal import Tree

/// What this user knows of people: whose words were compared, who is not to be seen, and who has a name that somebody
/// else had first. In memory, because every message asks.
struct Acquaintances {
    private(set) var marks: [Bytes32: PersonMarks] = [:]
    /// Muted or blocked, also as uids.
    private(set) var hidden: Set<Bytes32> = []
    private(set) var hiddenUIDs: Set<String> = []
    private(set) var blocked: Set<Bytes32> = []
    /// People with a name that is known from another key, and whose it was first.
    var namesakes: [Bytes32: NameBearer] = [:]

    func marks(of author: Bytes32) -> PersonMarks { marks[author] ?? PersonMarks() }

    mutating func set(_ new: PersonMarks, of author: Bytes32) {
        marks[author] = new == PersonMarks() ? nil : new
        let uid = UID.text(author)
        if new.isHidden {
            hidden.insert(author)
            hiddenUIDs.insert(uid)
        } else {
            hidden.remove(author)
            hiddenUIDs.remove(uid)
        }
        if new.isBlocked { blocked.insert(author) } else { blocked.remove(author) }
    }
}
