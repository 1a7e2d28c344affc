internal import CommandLineKit
internal import ControlAPI

/// `starling tree set`, `update`, `push` and `remove`
enum TreeWrite {
    static func set(_ session: Session) throws {
        if let expected = try Tree.value(ofOption: "expect", session) { return try set(expecting: expected, session) }
        let answer = try session.call("tree.set", ["path": try Tree.path(session), "value": try Tree.value(session)])
        session.print(answer) {}
    }

    private static func set(expecting expected: JSON, _ session: Session) throws {
        var params: JSONObject = [
            "path": try Tree.path(session), "expect": expected, "value": try Tree.value(session),
        ]
        // Who expects a priority has to see the one that is there.
        if expected[".priority"] != nil { params.append("export", true) }
        let answer = try session.call("tree.transaction", .object(params))
        session.print(answer) {}
        guard answer["committed"]?.bool != true else { return }
        throw Unexpected(value: answer["value"] ?? .null)
    }

    static func update(_ session: Session) throws {
        let values = try Tree.value(session)
        guard values.object != nil else {
            throw session.invocation.usageError("an update is an object: {\"path/below\": value, …}")
        }
        let answer = try session.call("tree.update", ["path": try Tree.path(session), "values": values])
        session.print(answer) {}
    }

    static func push(_ session: Session) throws {
        let answer = try session.call("tree.push", ["path": try Tree.path(session), "value": try Tree.value(session)])
        session.print(answer) { session.output.line(Escaper.escape(answer["key"]?.string ?? "")) }
    }

    static func remove(_ session: Session) throws {
        let answer = try session.call("tree.remove", ["path": try Tree.path(session)])
        session.print(answer) {}
    }
}

/// Another value stands there than was expected.
private struct Unexpected: Error, CustomStringConvertible {
    let value: JSON

    var description: String {
        let shown = value.isNull ? "nothing" : TextWidth.fitted(Escaper.escape(json: value.description), to: 200)
        return "nothing was written: what stands there is \(shown)"
    }
}
