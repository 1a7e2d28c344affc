import ControlAPI
import Lab
import Testing

/// Another's message cannot be changed, by no command and by no wrapping.
@Suite(.serialized, .showsLogs)
struct OwnershipTests {
    @Test(.timeLimit(.minutes(1))) func whatIsAnothersCannotBeWritten() async throws {
        let (ann, bob) = (try Machine("ann"), try Machine("bob"))
        try await ann.startLocally()
        try await bob.startLocally(knowing: ann)
        let key = try await ann.say("ann's")
        try await eventually("bob has it", within: .seconds(20)) { try await bob.texts() == ["ann's"] }
        let uid = try #require(try await ann.row("identity", "show")["uid"]?.string)
        let general = try #require(try await bob.row("channels")["key"]?.string)
        let channel = "channels/\(general)"
        let before = try await bob.root
        let attempts: [[String]] = [
            ["edit", key, "bob's"], ["delete", key],
            ["tree", "set", "\(channel)/messages/\(key)/text", "\"bob's\""],
            ["tree", "set", "\(channel)/messages/\(key)", #"{"text":"bob's"}"#],
            ["tree", "set", "\(channel)/messages", #"{"\#(key)":{"text":"bob's"}}"#],
            ["tree", "set", channel, #"{"messages":{"\#(key)":{"text":"bob's"}}}"#],
            ["tree", "set", "\(channel)/messages", "null"], ["tree", "remove", channel],
            ["tree", "remove", "\(channel)/messages"], ["tree", "remove", "\(channel)/messages/\(key)"],
            ["tree", "remove", "channels"], ["tree", "set", "/", "{}"],
            ["tree", "update", channel, #"{"messages/\#(key)/text":"bob's"}"#],
            ["tree", "update", channel, #"{"topic":"allowed","messages/\#(key)/text":"bob's"}"#],
            ["tree", "update", "channels", #"{"\#(general)/messages/\#(key)":null}"#],
            ["tree", "update", "/", #"{"\#(channel)/messages":{"\#(key)":{"text":"bob's"}}}"#],
            ["tree", "set", "\(channel)/messages/\(key)/reactions/\(uid)/👍", "true"],
            ["tree", "set", "\(channel)/reads/\(uid)", "\"\(key)\""],
            ["tree", "set", "users/\(uid)/displayName", "\"bob\""], ["tree", "remove", "users/\(uid)"],
            ["tree", "set", "users", "{}"], ["tree", "push", "\(channel)/typingIndicator", "true"],
        ]
        for words in attempts {
            let result = try await bob.spawn("starling", words + ["--json"]).finish()
            #expect(result.status == 5, "\(words): \(result.status) \(result.err)")
            #expect(result.err.contains("permission_denied") && result.out.isEmpty, "\(words): \(result.err)")
        }
        #expect(try await bob.root == before)
        #expect(try await ann.row("read", "general")["text"] == "ann's")
        // What is one's own, and what is everybody's, can be written.
        _ = try await bob.row("react", key, "👍")
        _ = try await bob.row("channels", "topic", "general", "bob's topic")
        _ = try await ann.row("edit", key, "ann's own")
        try await converge(ann, bob)
        let row = try await bob.row("read", "general")
        #expect(row["text"] == "ann's own" && row["reactions"]?["👍"]?.array?.count == 1)
    }
}
