import Chat
import Testing
import Tree

@testable import Node

/// Which messages writes touch: found without looking at all writes, and the same as if all were looked at.
struct TouchedMessagesTests {
    @Test(arguments: [
        [], ["channels"], ["channels/c"], ["channels/c/messages"], ["channels/c/messages/a"],
        ["channels/c/messages/a/text"], ["channels/c/messages/a/reactions/x/y"], ["channels/d/messages/a"],
        ["channels/c/name"], ["users/a"], ["channels/c/messages/b", "channels/d", "channels/c/messages/a/text"],
    ])
    func theyAreThoseAtBelowAndAboveTheWrites(_ writes: [String]) throws {
        let channel = try #require(Key("c"))
        let changed = try writes.map { try Path(parsing: $0) }
        let touched = TouchedMessages(changed, of: channel)
        for name in ["a", "b", "text"] {
            let key = try #require(Key(name))
            let path = try #require(ChatPath.message(channel, key))
            let isTouched = changed.contains { $0.contains(path) || path.contains($0) }
            #expect(touched.contains(key) == isTouched, "\(name) of \(writes)")
        }
    }
}
