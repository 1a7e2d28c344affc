internal import CommandLineKit
internal import ControlAPI

/// What `starling tree get` and `watch` ask for: which children, in which order, in which form.
enum TreeQuery {
    static let options =
        orders.map(\.option) + [
            Option("limit-to-first", value: "N", "The first N"), Option("limit-to-last", value: "N", "The last N"),
        ] + bounds.map(\.option) + [
            Option("shallow", "Keys alone: what stands below each is true"), Option("export", "With priorities"),
        ]

    private static let orders: [(option: Option, orderBy: String?)] = [
        (Option("order-by-key", "Children in the order of their keys"), "$key"),
        (
            Option("order-by-child", value: "PATH", "Children in the order of what stands below them at PATH"), nil
        ),
        (Option("order-by-value", "Children in the order of their values"), "$value"),
        (Option("order-by-priority", "Children in the order of their priorities"), "$priority"),
    ]

    /// A bound and the field of a query that it fills.
    private struct Bound {
        let option: Option
        let field: String
        /// Which others it excludes.
        let excluded: [String]
        /// Of which one it needs.
        var needed: [String] = []
    }

    private static let bounds = [
        Bound(
            option: Option("start-at", value: "JSON", "From that value on"), field: "startAt",
            excluded: ["start-after", "equal-to"]),
        Bound(
            option: Option("start-after", value: "JSON", "Behind that value"), field: "startAfter",
            excluded: ["start-at", "equal-to"]),
        Bound(
            option: Option("end-at", value: "JSON", "Up to that value"), field: "endAt",
            excluded: ["end-before", "equal-to"]),
        Bound(
            option: Option("end-before", value: "JSON", "Before that value"), field: "endBefore",
            excluded: ["end-at", "equal-to"]),
        Bound(option: Option("equal-to", value: "JSON", "That value alone"), field: "equalTo", excluded: []),
        Bound(
            option: Option("start-key", value: "KEY", "With --start-at or --start-after: where among equal children"),
            field: "startKey", excluded: [], needed: ["start-at", "start-after"]),
        Bound(
            option: Option("end-key", value: "KEY", "With --end-at or --end-before: where among equal children"),
            field: "endKey", excluded: [], needed: ["end-at", "end-before"]),
    ]

    /// The parameters of `tree.get` and `tree.observe`.
    ///
    /// - Throws: `UsageError` for options that contradict each other or need another.
    static func params(_ session: Session) throws -> JSONObject {
        let invocation = session.invocation
        guard !invocation.has("shallow") || !invocation.has("export") else {
            throw invocation.usageError("choose --shallow or --export")
        }
        var params: JSONObject = ["path": try Tree.path(session)]
        params.append("query", ifPresent: try query(session))
        for flag in ["shallow", "export"] where invocation.has(flag) { params.append(flag, true) }
        return params
    }

    /// The query of the options; nil if there is none.
    private static func query(_ session: Session) throws -> JSON? {
        let invocation = session.invocation
        var query = JSONObject()
        let chosen = orders.filter { invocation.has($0.option.long) }
        guard chosen.count <= 1 else { throw invocation.usageError("choose one --order-by") }
        let order = chosen.first.flatMap { $0.orderBy ?? invocation.value($0.option.long) }
        query.append("orderBy", ifPresent: order.map(JSON.string))
        for (option, field) in [("limit-to-first", "limitToFirst"), ("limit-to-last", "limitToLast")] {
            let limit = try invocation.integer(option, in: 1...1_000_000)
            query.append(field, ifPresent: limit.map { .int(Int64($0)) })
        }
        guard query["limitToFirst"] == nil || query["limitToLast"] == nil else {
            throw invocation.usageError("choose --limit-to-first or --limit-to-last")
        }
        for bound in bounds where invocation.has(bound.option.long) {
            query.append(bound.field, try value(of: bound, order, session))
        }
        return query.isEmpty ? nil : .object(query)
    }

    private static func value(of bound: Bound, _ order: String?, _ session: Session) throws -> JSON {
        let invocation = session.invocation
        let name = bound.option.long
        guard order != nil else {
            throw invocation.usageError(
                "--\(name) says nothing by itself: add --order-by-key, --order-by-child, --order-by-value "
                    + "or --order-by-priority")
        }
        if let other = bound.excluded.first(where: invocation.has) {
            throw invocation.usageError("choose --\(name) or --\(other)")
        }
        guard bound.needed.isEmpty || bound.needed.contains(where: invocation.has) else {
            let others = bound.needed.map { "--\($0)" }.joined(separator: " or ")
            throw invocation.usageError("--\(name) goes with \(others)")
        }
        guard bound.needed.isEmpty else { return .string(invocation.value(name) ?? "") }
        let value = try Tree.value(ofOption: name, session) ?? .null
        switch value {
        case .array, .object: throw invocation.usageError("--\(name) is a number, a string, true, false or null")
        case .string: return value
        default:
            guard order != "$key" else {
                throw invocation.usageError("--\(name) is a key as a string with --order-by-key: '\"\(value)\"'")
            }
            return value
        }
    }
}
