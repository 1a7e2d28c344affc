/// Makes the answers of JSON-RPC 2.0.
public enum RPCResponse {
    /// The answer to a request that was carried out.
    public static func success(id: JSON, _ result: JSON) -> JSON {
        ["jsonrpc": "2.0", "id": id, "result": result]
    }

    /// The answer to a request that was not.
    public static func failure(id: JSON, _ error: RPCError) -> JSON {
        ["jsonrpc": "2.0", "id": id, "error": error.json]
    }

    /// A message nobody answers.
    public static func notification(_ method: String, _ params: JSON) -> JSON {
        ["jsonrpc": "2.0", "method": .string(method), "params": params]
    }
}

/// A message as it goes over the socket.
public enum RPCLine {
    /// The message as one line with its newline. Nothing inside it can be one: the writer escapes it.
    public static func terminated(_ message: JSON) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(256)
        message.append(to: &out)
        out.append(0x0A)
        return out
    }
}

/// What stands on one line from the daemon.
public enum RPCAnswer: Sendable, Equatable {
    case result(id: JSON, JSON)
    case error(id: JSON, RPCError)
    case notification(method: String, params: JSON)

    /// Reads a line without its newline.
    ///
    /// - Throws: ``RPCAnswerError`` if it is neither an answer nor a notification.
    public init(line: ArraySlice<UInt8>) throws(RPCAnswerError) {
        let json: JSON
        do throws(JSONError) {
            json = try JSON.parse(line)
        } catch {
            throw RPCAnswerError(description: "no JSON: \(error)")
        }
        guard case .object(let object) = json, object["jsonrpc"]?.string == "2.0" else {
            throw RPCAnswerError(description: "no message of JSON-RPC 2.0")
        }
        if let method = object["method"]?.string {
            self = .notification(method: method, params: object["params"] ?? .object([:]))
        } else if let id = object["id"], let error = object["error"] {
            self = .error(id: id, RPCError(json: error))
        } else if let id = object["id"], let result = object["result"] {
            self = .result(id: id, result)
        } else {
            throw RPCAnswerError(description: "neither an answer nor a notification")
        }
    }
}

/// Why a line from the daemon makes no sense.
public struct RPCAnswerError: Error, Sendable, Equatable, CustomStringConvertible {
    public var description: String
}
