/// An error answer of JSON-RPC 2.0: a number, words for a person, and a stable string for programs in `data.reason`.
public struct RPCError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The numbers of JSON-RPC 2.0, section 5.1.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public var rawValue: Int64

        public init(rawValue: Int64) {
            self.rawValue = rawValue
        }

        /// The line is no JSON.
        public static let parseError = Code(rawValue: -32700)
        /// The line is JSON, but no request.
        public static let invalidRequest = Code(rawValue: -32600)
        public static let methodNotFound = Code(rawValue: -32601)
        public static let invalidParams = Code(rawValue: -32602)
        public static let internalError = Code(rawValue: -32603)
        /// The request is fine and was refused: `data.reason` says why.
        public static let refused = Code(rawValue: -32000)
    }

    /// Strings a program may compare. Open: a daemon may send ones that are not listed here.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public static let parseError = Reason(rawValue: "parse_error")
        public static let invalidRequest = Reason(rawValue: "invalid_request")
        public static let methodNotFound = Reason(rawValue: "method_not_found")
        public static let invalidParams = Reason(rawValue: "invalid_params")
        public static let internalError = Reason(rawValue: "internal_error")
        public static let permissionDenied = Reason(rawValue: "permission_denied")
        public static let invalidPath = Reason(rawValue: "invalid_path")
        public static let tooLarge = Reason(rawValue: "too_large")
        public static let notFound = Reason(rawValue: "not_found")
        public static let ambiguousName = Reason(rawValue: "ambiguous_name")
        public static let offline = Reason(rawValue: "offline")
        public static let quota = Reason(rawValue: "quota")
        public static let diskFull = Reason(rawValue: "disk_full")
        public static let busy = Reason(rawValue: "busy")
    }

    public var code: Code
    /// Words for a person, without message text or keys of others.
    public var message: String
    public var reason: Reason

    /// - `code`: the number; ``Code/refused`` for every refusal that JSON-RPC has no number for.
    public init(code: Code = .refused, reason: Reason, message: String) {
        self.code = code
        self.reason = reason
        self.message = message
    }

    /// Parameters are missing, of the wrong kind or out of range.
    public static func invalidParams(_ message: String) -> RPCError {
        RPCError(code: .invalidParams, reason: .invalidParams, message: message)
    }

    /// There is no such method in this version.
    public static func methodNotFound(_ method: String) -> RPCError {
        RPCError(code: .methodNotFound, reason: .methodNotFound, message: "no method \(method)")
    }

    public var description: String { "\(message) (\(reason.rawValue))" }

    /// The `error` member of an answer.
    public var json: JSON {
        ["code": .int(code.rawValue), "message": .string(message), "data": ["reason": .string(reason.rawValue)]]
    }

    /// Reads the `error` member of an answer. What is missing is filled in, so that any error is shown somehow.
    public init(json: JSON) {
        code = Code(rawValue: json["code"]?.int ?? Code.internalError.rawValue)
        message = json["message"]?.string ?? "the daemon gave no reason"
        reason = Reason(rawValue: json["data"]?["reason"]?.string ?? "internal_error")
    }
}
