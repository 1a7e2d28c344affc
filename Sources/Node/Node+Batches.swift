internal import ControlAPI
internal import Net

/// A batch that is being carried out, in turns of the loop if it takes long.
struct RunningBatch {
    /// Of the line that a batch is answered with this much is kept for saying that the rest found no room.
    private static let refusalsBytes = 512 << 10

    private let requests: [Result<RPCRequest, RPCRefusal>]
    /// Which one is next.
    private var position = 0
    private var line: [UInt8] = [UInt8(ascii: "[")]
    private var isFull = false

    init(_ requests: [Result<RPCRequest, RPCRefusal>]) { self.requests = requests }

    /// The line of all answers; nil if there are none.
    var answers: [UInt8]? { line.count > 1 ? line + Array("]\n".utf8) : nil }

    /// Carries out the next request; false if there is none. The answers of a batch stand on one line, so they share
    /// its length; after one that finds no room nothing more is carried out.
    mutating func carryOutNext(_ answer: (RPCRequest) -> JSON?) -> Bool {
        guard position < requests.count else { return false }
        defer { position += 1 }
        switch requests[position] {
        case .success(let request):
            if !isFull, let answer = answer(request) {
                isFull = !append(answer, reserving: RunningBatch.refusalsBytes)
            }
            if isFull, let id = request.id {
                _ = append(RPCResponse.failure(id: id, Node.tooLongAnswer), reserving: 0)
            }
        case .failure(let refusal): _ = append(refusal.response, reserving: 0)
        }
        return true
    }

    private mutating func append(_ answer: JSON, reserving reserve: Int) -> Bool {
        let bytes = answer.serialized
        guard line.count + bytes.count + 2 + reserve <= LineSplitter.lineMax else { return false }
        if line.count > 1 { line.append(UInt8(ascii: ",")) }
        line += bytes
        return true
    }
}

extension Node {
    static let tooLongAnswer = RPCError(
        reason: .tooLarge, message: "the answer is longer than a line may be; query a window")

    /// What changes nothing and tells nobody anything: without an id nobody would see that it was carried out.
    private static let reads: Set<String> = [
        "tree.get", "tree.history", "message.list", "message.search", "message.status", "channel.list", "people.list",
        "identity.show", "node.status", "node.peers",
    ]

    func isWithoutEffect(_ request: RPCRequest) -> Bool { request.id == nil && Node.reads.contains(request.method) }

    /// Goes on with a client's batch until its end or that of the turn. What others ask is carried out in between.
    func continueBatch(_ session: ControlSession, untilNs endNs: UInt64) {
        guard var batch = session.batch else { return }
        repeat {
            guard batch.carryOutNext({ answer($0, session) }) else {
                session.batch = nil
                if let answers = batch.answers { session.send(lines: answers) }
                return
            }
        } while !session.isClosing && EventLoop.monotonicNs() < endNs
        session.batch = batch
    }
}
