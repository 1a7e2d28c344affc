internal import ControlAPI
internal import Tree

/// A window of the tree that all who observe the same follow together: it is kept, read anew and put into words once
/// for all of them.
final class FollowedWindow {
    /// How what happens in it is told.
    enum Content: Hashable {
        case tree(ValueForm)
        /// Messages of a channel as rows.
        case messages(channel: Tree.Key)
    }

    /// Subscriptions with the same one are told the same.
    struct Key: Hashable {
        let path: Path
        let query: Query
        let kinds: Set<TreeEvent.Kind>
        let content: Content

        init(_ observation: Observation, _ content: Content) {
            (path, query, kinds) = (observation.path, observation.query, observation.kinds)
            self.content = content
        }
    }

    let key: Key
    var observation: Observation
    /// Subscriptions that follow it.
    var followers = 0
    private let pathText: [UInt8]

    init(_ observation: Observation, _ key: Key) {
        self.key = key
        self.observation = observation
        pathText = JSON.string("\(observation.path)").serialized
    }

    /// An event as those are told who follow the tree.
    func line(_ event: TreeEvent, _ form: ValueForm) -> EventLine { EventLine(event, at: pathText, form) }
}
