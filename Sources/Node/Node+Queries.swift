internal import ControlAPI
internal import Tree

/// How values look in answers and events.
enum ValueForm {
    case plain
    /// With priorities.
    case export
    /// Each child is `true`.
    case shallow

    init(_ params: Fields) throws(RPCError) {
        let isShallow = try params.optionalBool("shallow") ?? false
        let isExport = try params.optionalBool("export") ?? false
        guard !isShallow || !isExport else { throw .invalidParams("shallow and export exclude each other") }
        self = isShallow ? .shallow : isExport ? .export : .plain
    }

    /// A value, of which shallow leaves the keys.
    func json(_ value: Value) -> JSON {
        guard self == .shallow, let object = value.leaf.object else { return JSON(value, export: self == .export) }
        var members = JSONObject()
        for child in object.children where !child.key.isEngine { members.append(child.key.text, true) }
        return .object(members)
    }

    /// A child of the value, of which shallow leaves that it is there.
    func json(ofChild value: Value) -> JSON {
        self == .shallow ? true : JSON(value, export: self == .export)
    }
}

extension Node {
    /// The query of a request, nil where it has none.
    func query(_ params: Fields) throws -> Query? {
        guard let json = params["query"] else { return nil }
        let fields = try Fields(json)
        // A misspelt limit would ask for everything.
        if let unknown = fields.object.members.first(where: { !Node.queryFields.contains($0.key) }) {
            throw RPCError.invalidParams("a query has no field called \(unknown.key)")
        }
        var query = Query()
        let order = try fields.optionalString("orderBy")
        switch order {
        case nil, "$priority"?: query.order = .priority
        case "$key"?: query.order = .key
        case "$value"?: query.order = .value
        case let text?:
            do throws(PathError) {
                query.order = .child(try Path(parsing: text))
            } catch {
                throw RPCError(reason: .invalidPath, message: "orderBy: \(error)")
            }
        }
        query.limit = try limit(fields)
        query.start = try bound(fields, "startAt", "startAfter", "startKey")
        query.end = try bound(fields, "endAt", "endBefore", "endKey")
        if let equal = fields.object["equalTo"] {
            guard query.start == nil, query.end == nil else {
                throw RPCError.invalidParams("equalTo cannot be combined with other bounds")
            }
            query.start = Query.Bound(try boundValue(equal), isInclusive: true)
            query.end = query.start
        }
        if order == nil, query.start != nil || query.end != nil {
            throw RPCError.invalidParams("bounds need an orderBy that says of what")
        }
        if query.order == .key {
            for bound in [query.start, query.end].compactMap({ $0 })
            where bound.value.string.flatMap({ Key($0) }) == nil {
                throw RPCError.invalidParams("bounds of an order by key are keys")
            }
        }
        return query
    }

    private static let queryFields: Set<String> = [
        "orderBy", "limitToFirst", "limitToLast", "startAt", "startAfter", "startKey", "endAt", "endBefore", "endKey",
        "equalTo",
    ]

    private func limit(_ fields: Fields) throws(RPCError) -> Query.Limit? {
        let first = try fields.optionalInt("limitToFirst")
        let last = try fields.optionalInt("limitToLast")
        if first != nil, last != nil { throw RPCError.invalidParams("only one limit is possible") }
        for count in [first, last].compactMap({ $0 }) where count < 1 || count > 1 << 30 {
            throw RPCError.invalidParams("a limit is at least 1")
        }
        if let first { return .first(Int(first)) }
        if let last { return .last(Int(last)) }
        return nil
    }

    /// - `key`: the name of the field that says where among equal children the range begins or ends.
    private func bound(
        _ fields: Fields, _ inclusive: String, _ exclusive: String, _ key: String
    ) throws(RPCError) -> Query.Bound? {
        var place: Key?
        if let text = try fields.optionalString(key) {
            guard let valid = Key(text) else {
                throw RPCError(reason: .invalidPath, message: "\(PathError.invalidKey(text))")
            }
            place = valid
        }
        // A null is a bound like any other: what has no value comes first.
        switch (fields.object[inclusive], fields.object[exclusive]) {
        case (nil, nil):
            guard place == nil else { throw .invalidParams("\(key) needs \(inclusive) or \(exclusive)") }
            return nil
        case (let value?, nil): return Query.Bound(try boundValue(value), key: place, isInclusive: true)
        case (nil, let value?): return Query.Bound(try boundValue(value), key: place, isInclusive: false)
        default: throw .invalidParams("\(inclusive) and \(exclusive) exclude each other")
        }
    }

    private func boundValue(_ json: JSON) throws(RPCError) -> Value {
        let value = try json.value()
        guard value.object == nil else { throw .invalidParams("a bound is null, a boolean, a number or a string") }
        return value
    }
}
