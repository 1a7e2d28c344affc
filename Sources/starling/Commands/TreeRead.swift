internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// `starling tree get` and `watch`
enum TreeRead {
    static func get(_ session: Session) throws {
        guard !session.invocation.has("watch") else { return try watch(session) }
        guard !session.invocation.has("event") else {
            throw session.invocation.usageError("--event goes with --watch")
        }
        let value = try session.call("tree.get", .object(try TreeQuery.params(session)))["value"] ?? .null
        if session.json || !session.output.isTerminal {
            session.output.json(value)
        } else {
            session.output.line(Escaper.escape(json: indented(value, "")))
        }
    }

    private static let kinds = ["child_added", "child_changed", "child_moved", "child_removed", "value"]

    static func watch(_ session: Session) throws {
        var params = try TreeQuery.params(session)
        let events = session.invocation.values("event")
        if let unknown = events.first(where: { !kinds.contains($0) }) {
            let names = kinds.joined(separator: ", ")
            throw session.invocation.usageError("no event is called \(unknown); there are \(names)")
        }
        if !events.isEmpty { params.append("events", .array(events.map(JSON.string))) }
        let client = try session.client()
        try client.call("tree.observe", .object(params))
        while let event = try client.nextEvent(timeoutMs: nil) {
            guard event.name != "ended" else { throw WatchEnded(reason: event.params["reason"]?.string ?? "") }
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
            let output = session.output
            let name = TextWidth.padded(Escaper.escape(event.name), to: 13)
            let shownKey = Escaper.escape(key.string ?? "")
            let beginning = [name, shownKey].filter { !$0.isEmpty }.joined(separator: "  ")
            var text = Escaper.escape(json: value.description)
            if output.isTerminal, TextWidth.of(beginning) + 2 + TextWidth.of(text) > output.columns {
                text = Escaper.escape(json: indented(value, ""))
            }
            let previous = (event.params["previous"]?.string).map { "after \(Escaper.escape($0))" } ?? "to the front"
            let place = event.name == "child_moved" ? output.styled(previous, .dim) : ""
            let styled = [output.styled(name, .dim), output.styled(shownKey, .bold), text, place]
            output.line(styled.filter { !$0.isEmpty }.joined(separator: "  "))
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

/// The daemon has ended what was watched.
private struct WatchEnded: Error, CustomStringConvertible {
    let reason: String

    var description: String {
        "the daemon tells no more of this path (\(reason)); watch less of it, with --limit-to-last"
    }
}
