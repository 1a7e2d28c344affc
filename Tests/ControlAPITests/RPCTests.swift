import ControlAPI
import Testing

/// The examples of JSON-RPC 2.0, section 7, and what lies between them.
struct RPCTests {
    private func answers(_ line: String) throws -> String {
        func answer(_ request: RPCRequest) -> JSON? {
            request.id.map { RPCResponse.success(id: $0, .string(request.method)) }
        }
        switch RPCIncoming(line: ArraySlice(Array(line.utf8))) {
        case .single(let request): return answer(request)?.description ?? ""
        case .refused(let refusal): return refusal.response.description
        case .batch(let items):
            let responses: [JSON] = items.compactMap { item in
                switch item {
                case .success(let request): answer(request)
                case .failure(let refusal): refusal.response
                }
            }
            return responses.isEmpty ? "" : JSON.array(responses).description
        }
    }

    static let single: [(line: String, answer: String)] = [
        (#"{"jsonrpc":"2.0","method":"m","params":{"a":1},"id":3}"#, #"{"jsonrpc":"2.0","id":3,"result":"m"}"#),
        (#"{"jsonrpc":"2.0","method":"m","id":"x"}"#, #"{"jsonrpc":"2.0","id":"x","result":"m"}"#),
        (#"{"jsonrpc":"2.0","method":"m","id":null}"#, #"{"jsonrpc":"2.0","id":null,"result":"m"}"#),
        (#"{"jsonrpc":"2.0","method":"m","id":1.5}"#, #"{"jsonrpc":"2.0","id":1.5,"result":"m"}"#),
        (#"{"jsonrpc":"2.0","method":"m"}"#, ""),
        (#"[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"n"}]"#, ""),
        (
            #"[{"jsonrpc":"2.0","method":"m","id":1},{"jsonrpc":"2.0","method":"n"},"#
                + #"{"jsonrpc":"2.0","method":"o","id":2}]"#,
            #"[{"jsonrpc":"2.0","id":1,"result":"m"},{"jsonrpc":"2.0","id":2,"result":"o"}]"#
        ),
    ]

    @Test(arguments: single.indices)
    func requestsAreAnswered(_ index: Int) throws {
        let (line, expected) = Self.single[index]
        #expect(try answers(line) == expected)
    }

    static let refusals: [(line: String, code: Int64, id: JSON)] = [
        (#"{"jsonrpc":"2.0","method":"foobar,"params":"bar","baz]"#, -32700, .null),
        (#"[{"jsonrpc":"2.0","method":"sum","id":"1"},{"jsonrpc":"2.0","method""#, -32700, .null),
        ("", -32700, .null), ("GET / HTTP/1.1\r", -32700, .null),
        (#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, -32600, .null), ("[]", -32600, .null), ("1", -32600, .null),
        ("\"x\"", -32600, .null), ("{}", -32600, .null), (#"{"jsonrpc":"1.0","method":"m","id":4}"#, -32600, 4),
        (#"{"method":"m","id":4}"#, -32600, 4), (#"{"jsonrpc":2.0,"method":"m","id":4}"#, -32600, 4),
        (#"{"jsonrpc":"2.0","method":"m","id":{}}"#, -32600, .null),
        (#"{"jsonrpc":"2.0","method":"m","id":true}"#, -32600, .null),
        (#"{"jsonrpc":"2.0","method":"m","params":"x","id":5}"#, -32600, 5),
        (#"{"jsonrpc":"2.0","method":"m","params":null,"id":5}"#, -32600, 5),
        (#"{"jsonrpc":"2.0","method":"m","params":[1],"id":5}"#, -32602, 5),
        (#"{"jsonrpc":"2.0","method":"m","method":"n","id":5}"#, -32700, .null),
    ]

    @Test(arguments: refusals.indices)
    func nonsenseIsRefused(_ index: Int) throws {
        let (line, code, id) = Self.refusals[index]
        let response = try JSON.parse(answers(line))
        #expect(response["error"]?["code"]?.int == code)
        #expect(response["id"] == id)
        #expect(response["jsonrpc"] == "2.0")
        #expect(response["error"]?["data"]?["reason"]?.string?.isEmpty == false)
    }

    @Test func eachOfABatchIsAnsweredForItself() throws {
        let line = #"[1,{"jsonrpc":"2.0","method":"m","id":1},{"foo":"boo"},[]]"#
        let responses = try #require(try JSON.parse(answers(line)).array)
        let codes = responses.map { $0["error"]?["code"]?.int }
        let expected: [Int64?] = [-32600, nil, -32600, -32600]
        #expect(codes == expected)
        #expect(responses[1]["result"] == "m")
    }

    @Test func batchesAreBounded() throws {
        let most = "[" + Array(repeating: "1", count: RPCIncoming.batchMax).joined(separator: ",") + "]"
        #expect(try JSON.parse(answers(most)).array?.count == RPCIncoming.batchMax)
        let more = "[1," + most.dropFirst()
        #expect(try JSON.parse(answers(more))["error"]?["code"]?.int == -32600)
    }

    @Test func requestRoundTrips() throws {
        let request = RPCRequest(id: 7, method: "message.send", params: ["to": "#general", "text": "a\nb"])
        let line = request.line
        #expect(line.last == 0x0A && line.dropLast().contains(0x0A) == false)
        #expect(RPCIncoming(line: line.dropLast()) == .single(request))
    }

    static let answered: [(line: String, answer: RPCAnswer)] = [
        (#"{"jsonrpc":"2.0","id":1,"result":null}"#, .result(id: 1, .null)),
        (#"{"jsonrpc":"2.0","method":"event","params":{"a":1}}"#, .notification(method: "event", params: ["a": 1])),
        (
            #"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no","data":{"reason":"not_found"}}}"#,
            .error(id: .null, RPCError(reason: .notFound, message: "no"))
        ),
        (
            #"{"jsonrpc":"2.0","id":2,"error":{}}"#,
            .error(id: 2, RPCError(code: .internalError, reason: .internalError, message: "the daemon gave no reason"))
        ),
    ]

    @Test(arguments: answered.indices)
    func answersAreRead(_ index: Int) throws {
        let (line, expected) = Self.answered[index]
        let answer = try RPCAnswer(line: ArraySlice(Array(line.utf8)))
        #expect(answer == expected)
    }

    @Test(arguments: ["", "{}", "[]", "null", #"{"jsonrpc":"2.0","id":1}"#, #"{"id":1,"result":2}"#, "HTTP/1.1 400"])
    func nonsenseFromADaemonThrows(_ line: String) {
        #expect(throws: RPCAnswerError.self) { try RPCAnswer(line: ArraySlice(Array(line.utf8))) }
    }

    @Test func errorsRoundTrip() {
        let error = RPCError(reason: .permissionDenied, message: "that message is not yours")
        #expect(RPCError(json: error.json) == error)
        #expect(RPCError.methodNotFound("x").code == .methodNotFound)
    }
}
