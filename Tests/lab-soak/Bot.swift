import ControlAPI
import Dispatch
import Glibc
import Lab

/// A program at one host's socket. One task at a time.
final class Bot {
    /// Who does not answer for so long hangs, however slow the machine is and however long it was stopped.
    static let limit = Duration.seconds(180)

    private let process: LabProcess
    private var lastID: Int64 = 0

    /// - Throws: `LabError` where no daemon listens.
    init(_ host: LabHost) async throws {
        process = try host.spawn(["socat", "-", "UNIX-CONNECT:/run/user/0/starling/starling.sock"])
        try await next { $0["method"] == "hello" }
    }

    /// The result of a request; `meanwhile` is shown what comes before it.
    ///
    /// - Throws: `Refusal` for an error, `LabError` when the daemon has gone or hangs.
    func call(
        _ method: String, _ params: JSON = [:], meanwhile: (JSON) -> Void = { _ in }
    ) async throws -> JSON {
        lastID += 1
        let id = lastID
        let request: JSON = ["jsonrpc": "2.0", "id": .int(id), "method": .string(method), "params": params]
        try process.send(line: "\(request)")
        let answer = try await next { row in
            if row["id"]?.int == id { return true }
            meanwhile(row)
            return false
        }
        guard let result = answer["result"] else {
            throw Refusal(description: "\(method) was refused: \(answer["error"] ?? .null)")
        }
        return result
    }

    /// The next line that fits; those before it are dropped.
    @discardableResult
    func next(where fits: (JSON) -> Bool) async throws -> JSON {
        while let line = try await process.nextLine(timeout: Self.limit) {
            // A line that a kill has cut is no answer.
            if let row = try? JSON.parse(line), fits(row) { return row }
        }
        throw Gone()
    }

    /// The daemon has refused something that it should have done.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// The connection has ended.
    struct Gone: Error, CustomStringConvertible {
        let description = "the daemon is gone"
    }
}

/// Lets time pass.
func pause(_ duration: Duration) async {
    let seconds = duration / .seconds(1)
    await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + max(seconds, 0)) { continuation.resume() }
    }
}

/// Prints a line that is seen at once, also through a pipe.
func tell(_ text: String) {
    print(text)
    fflush(nil)
}
