package import Tree

/// Any JSON, in the export form: `.priority` and `.value` may stand in it.
package enum OracleJSON: Decodable, Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([OracleJSON])
    case object([String: OracleJSON])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([OracleJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: OracleJSON].self))
        }
    }
}

extension Value {
    /// For messages: JSON without quotes.
    package var short: String {
        switch self {
        case .null: return "null"
        case .bool(let value): return "\(value)"
        case .integer(let value): return "\(value)"
        case .double(let value): return "\(value)"
        case .string(let value): return "'\(value)'"
        case .object(let object):
            let members = object.children.map { "\($0.key): \($0.value.short)" }
            return "{" + members.joined(separator: ", ") + "}"
        }
    }
}
