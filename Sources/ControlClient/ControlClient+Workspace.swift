internal import Glibc
public import ControlAPI

extension ControlClient {
    private static let restartPollMs: Int32 = 20

    /// Connects to a daemon that is starting anew in another workspace, as soon as it answers from there.
    ///
    /// - Returns: the connection, and the workspace as the daemon shows it.
    /// - Throws: ``ClientError/timedOut(doing:)`` if no daemon in this workspace, given by its id, answers in time.
    public static func connect(
        _ places: SocketPlaces, toWorkspace id: String, timeoutMs: Int = 10_000
    ) throws(ClientError) -> (client: ControlClient, workspace: WorkspaceRow) {
        let deadline = Deadline(timeoutMs: timeoutMs)
        while true {
            // Meanwhile it may be gone, or about to go.
            if let client = try? connect(places), let answer = try? client.call("workspace.show", [:]),
                let row = try? WorkspaceRow(json: answer), row.id == id
            {
                return (client, row)
            }
            guard !deadline.hasPassed else { throw .timedOut(doing: "starlingd is starting anew still") }
            poll(nil, 0, restartPollMs)
        }
    }
}
