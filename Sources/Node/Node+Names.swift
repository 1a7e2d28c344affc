internal import Seal
internal import Tree

/// Names that every message looks up again: each costs several reads of the store, and they hardly ever change. They
/// are forgotten as soon as an entry becomes live that may change one.
extension Node {
    /// Names remembered of each kind; beyond it remembering begins anew.
    static let namesMax = 256

    /// Remembers that clients mean a channel by a text, because its name, as it stands in the tree, is the one that its
    /// key certifies.
    func remember(channel: Key, as text: String) {
        if certifiedChannels.count >= Node.namesMax { certifiedChannels = [:] }
        certifiedChannels[text] = channel
    }

    func remember(name: String, of author: Bytes32) {
        if storedNames.count >= Node.namesMax { storedNames = [:] }
        storedNames[author] = name
    }

    /// Forgets what writes at these paths may have changed.
    func forgetNames(_ changed: [Path]) {
        for path in changed {
            switch path.keys.first?.text {
            case "channels"?:
                let isMessage = path.depth > 3 && path.keys[2].text == "messages"
                if !isMessage { certifiedChannels = [:] }
            case "users"?: storedNames = [:]
            default: break
            }
        }
    }
}
