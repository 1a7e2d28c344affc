/// One request or notification of JSON-RPC 2.0.
public struct RPCRequest: Sendable, Equatable {
    /// A string, a number or null as the client chose it; nil for a notification, which is never answered.
    public var id: JSON?
    public var method: String
    /// An object; `{}` if the request had none.
    public var params: JSON

    public init(id: JSON?, method: String, params: JSON = .object([:])) {
        self.id = id
        self.method = method
        self.params = params
    }

    /// The request as one line with its newline.
    public var line: [UInt8] {
        var object: JSONObject = ["jsonrpc": "2.0"]
        object.append("id", ifPresent: id)
        object.append("method", .string(method))
        object.append("params", params)
        return RPCLine.terminated(.object(object))
    }

    /// Reads one request that is JSON already.
    ///
    /// - Throws: what must be answered, with the id if one could be read.
    init(json: JSON) throws(RPCRefusal) {
        guard case .object(let object) = json else { throw RPCRefusal("a request is an object") }
        let id = object["id"]
        switch id {
        case nil, .null, .string, .int, .double: break
        default: throw RPCRefusal("an id is a string or a number")
        }
        guard object["jsonrpc"]?.string == "2.0" else { throw RPCRefusal("\"jsonrpc\" must be \"2.0\"", id: id) }
        guard let method = object["method"]?.string else { throw RPCRefusal("\"method\" must be a string", id: id) }
        let params = object["params"] ?? .object([:])
        switch params {
        case .object: break
        case .array:
            let error = RPCError.invalidParams("parameters are passed by name, in an object")
            throw RPCRefusal(id: id, error: error)
        default: throw RPCRefusal("\"params\" must be an object", id: id)
        }
        self.init(id: id, method: method, params: params)
    }
}

/// What must be answered to something that is no request.
public struct RPCRefusal: Error, Sendable, Equatable {
    /// The id that could be read, else null, as JSON-RPC 2.0 wants it.
    public var id: JSON
    public var error: RPCError

    init(id: JSON?, error: RPCError) {
        self.id = id ?? .null
        self.error = error
    }

    init(_ message: String, id: JSON? = nil) {
        self.init(id: id, error: RPCError(code: .invalidRequest, reason: .invalidRequest, message: message))
    }

    /// The answer.
    public var response: JSON { RPCResponse.failure(id: id, error) }
}

/// What stands on one line from a client.
public enum RPCIncoming: Sendable, Equatable {
    /// Answer with one response unless it is a notification.
    case single(RPCRequest)
    /// Answer with one array of the responses in any order, refusals included; with nothing if there are none.
    case batch([Result<RPCRequest, RPCRefusal>])
    /// Answer with this response.
    case refused(RPCRefusal)

    /// The most requests in one batch: a line full of `1,` would otherwise ask for answers fifty times its size.
    public static let batchMax = 1_000

    /// Reads a line as JSON-RPC 2.0 has it (sections 4 and 6), without its newline.
    public init(line: ArraySlice<UInt8>) {
        let json: JSON
        do throws(JSONError) {
            json = try JSON.parse(line)
        } catch {
            let words = "no JSON: \(error)"
            let answer = RPCError(code: .parseError, reason: .parseError, message: words)
            self = .refused(RPCRefusal(id: nil, error: answer))
            return
        }
        guard case .array(let elements) = json else {
            switch Self.request(json) {
            case .success(let request): self = .single(request)
            case .failure(let refusal): self = .refused(refusal)
            }
            return
        }
        if elements.isEmpty {
            self = .refused(RPCRefusal("a batch must not be empty"))
        } else if elements.count > Self.batchMax {
            self = .refused(RPCRefusal("a batch has at most \(Self.batchMax) requests"))
        } else {
            self = .batch(elements.map(Self.request))
        }
    }

    private static func request(_ json: JSON) -> Result<RPCRequest, RPCRefusal> {
        Result { () throws(RPCRefusal) in try RPCRequest(json: json) }
    }
}
