internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// `starling tree get` and `watch`
enum TreeRead {
    static func get(_ session: Session) throws {
        var params: JSONObject = ["path": try Tree.path(session)]
        params.append("query", ifPresent: try Tree.query(session))
        for flag in ["shallow", "export"] where session.invocation.has(flag) { params.append(flag, true) }
        let value = try session.call("tree.get", .object(params))["value"] ?? .null
        if session.json || !session.output.isTerminal {
            session.output.json(value)
        } else {
            session.output.line(Escaper.escape(json: indented(value, "")))
        }
    }

    static func watch(_ session: Session) throws {
        var params: JSONObject = ["path": try Tree.path(session)]
        params.append("query", ifPresent: try Tree.query(session))
        let events = session.invocation.values("event")
        if !events.isEmpty { params.append("events", .array(events.map(JSON.string))) }
        let client = try session.client()
        try client.call("tree.observe", .object(params))
        while let event = try client.nextEvent(timeoutMs: nil) {
            show(event, session)
            session.output.flush()
        }
    }

    private static func show(_ event: ControlEvent, _ session: Session) {
        let key = event.params["key"] ?? .null
        let value = event.params["value"] ?? .null
        let row: JSON = [
            "event": .string(event.name), "key": key, "value": value, "previous": event.params["previous"] ?? .null,
        ]
        session.print(row) {
            let name = session.output.styled(TextWidth.padded(Escaper.escape(event.name), to: 13), .dim)
            let shownKey = session.output.styled(Escaper.escape(key.string ?? ""), .bold)
            session.output.line("\(name)  \(shownKey)  \(Escaper.escape(json: value.description))")
        }
    }

    /// JSON over several lines, two spaces a level.
    static func indented(_ value: JSON, _ indent: String) -> String {
        let deeper = indent + "  "
        switch value {
        case .object(let object) where !object.isEmpty:
            let members = object.members.map { "\(deeper)\(JSON.string($0.key)): \(indented($0.value, deeper))" }
            return "{\n\(members.joined(separator: ",\n"))\n\(indent)}"
        case .array(let elements) where !elements.isEmpty:
            let lines = elements.map { deeper + indented($0, deeper) }
            return "[\n\(lines.joined(separator: ",\n"))\n\(indent)]"
        default:
            return value.description
        }
    }
}
