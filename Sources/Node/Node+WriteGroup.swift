internal import ControlAPI
internal import Tree

/// Writes that one client sends without waiting for the answers: signed once, stored in one transaction, told to peers
/// as one bundle.
///
/// Only what writes below keys of its own is gathered, so that no write depends on another of the group, and only of
/// one method, for a push may make the channel that a message names.
struct WriteGroup {
    /// Entries and bytes of a group. A larger one saves little more, and others wait for it.
    static let countMax = 256
    static let bytesMax = 256 << 10

    private(set) var entries: [Entry] = []
    private var bytes = 0
    private(set) var method = ""
    /// In the order of the requests. What was refused at once stands here too.
    private(set) var answers: [(id: JSON?, result: Result<JSON, RPCError>)] = []

    var isFull: Bool { entries.count >= WriteGroup.countMax || bytes >= WriteGroup.bytesMax }

    /// Whether a request writes nothing but a new key, and looks at nothing that the group is going to write.
    func takes(_ request: RPCRequest) -> Bool {
        guard method.isEmpty || request.method == method, let params = try? Fields(request.params) else { return false }
        switch request.method {
        case "message.send": return params["key"] == nil && params["replyTo"] == nil
        case "tree.push":
            guard let text = try? params.string("path"), let parent = try? Path(parsing: text) else { return false }
            return !entries.contains { $0.path.contains(parent) }
        default: return false
        }
    }

    mutating func add(_ new: [Entry]) {
        entries += new
        for entry in new { bytes += entry.encoded.count }
    }

    mutating func add(_ request: RPCRequest, _ result: Result<JSON, RPCError>) {
        method = request.method
        answers.append((request.id, result))
    }
}

extension Node {
    /// Takes a request into the group if more of its client's are at hand, or some wait already.
    func carryOutTogether(_ request: RPCRequest, _ session: ControlSession) -> Bool {
        guard isServing || !writeGroup.answers.isEmpty, writeGroup.takes(request) else { return false }
        writePurpose = .together
        defer { writePurpose = .itself }
        do {
            writeGroup.add(request, .success(try call(request, session) ?? [:]))
        } catch {
            writeGroup.add(request, .failure(Node.rpcError(error)))
            noticeDamage(error)
        }
        if writeGroup.isFull { commitTogether(session) }
        return true
    }

    /// Stores the group and answers its requests; if it cannot be stored, nothing of it has happened.
    func commitTogether(_ session: ControlSession) {
        guard !writeGroup.answers.isEmpty else { return }
        let group = writeGroup
        writeGroup = WriteGroup()
        writePurpose = .itself
        var failure: RPCError?
        if !group.entries.isEmpty {
            do throws(RPCError) { try commit(own: group.entries) } catch { failure = error }
        }
        for (id, result) in group.answers {
            guard let id else { continue }
            switch (result, failure) {
            case (.success, let failure?): session.send(RPCResponse.failure(id: id, failure))
            case (.success(let answer), nil): session.send(RPCResponse.success(id: id, answer))
            case (.failure(let error), _): session.send(RPCResponse.failure(id: id, error))
            }
        }
    }
}
