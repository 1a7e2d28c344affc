internal import CommandLineKit
internal import ControlAPI

/// `starling tree set`, `update`, `push` and `remove`
enum TreeWrite {
    static func set(_ session: Session) throws {
        let answer = try session.call("tree.set", ["path": try Tree.path(session), "value": try Tree.value(session)])
        session.print(answer) {}
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
