internal import Glibc

extension ControlClient {
    private static let retryMs: Int32 = 20

    /// Connects to a daemon that is starting anew with another identity, as soon as it answers.
    ///
    /// - Throws: ``ClientError/timedOut(doing:)`` if no daemon with this uid answers in time.
    public static func connect(
        _ places: SocketPlaces, toIdentity uid: String, timeoutMs: Int = 10_000
    ) throws(ClientError) -> ControlClient {
        let deadline = Deadline(timeoutMs: timeoutMs)
        while true {
            // Meanwhile it may be gone, or about to go.
            if let client = try? connect(places), client.hello.uid == uid { return client }
            guard !deadline.hasPassed else { throw .timedOut(doing: "starlingd is starting anew still") }
            poll(nil, 0, retryMs)
        }
    }
}
