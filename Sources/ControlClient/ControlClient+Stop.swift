internal import CPosix
public import ControlAPI
internal import Glibc

extension ControlClient {
    /// Stops the daemon and waits until its process has ended: only then can another take its place.
    ///
    /// - Returns: the daemon's answer.
    /// - Throws: ``ClientError/timedOut(doing:)`` if it runs still after that time.
    @discardableResult
    public func stopDaemon(timeoutMs: Int = 5_000) throws(ClientError) -> JSON {
        let deadline = Deadline(timeoutMs: timeoutMs)
        let process = starling_pidfd_of_peer(fileDescriptor)
        defer { if process >= 0 { close(process) } }
        let answer = try call("node.stop", timeoutMs: timeoutMs)
        guard try process >= 0 ? hasEnded(process, deadline) : hasClosed(deadline) else {
            throw .timedOut(doing: "starlingd is stopping still")
        }
        return answer
    }

    private func hasEnded(_ process: Int32, _ deadline: Deadline) throws(ClientError) -> Bool {
        var entry = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&entry, 1, deadline.pollMs)
            if count >= 0 { return count > 0 }
            guard errno == EINTR else { throw .system(doing: "poll", errno: errno) }
        }
    }

    /// Where the process cannot be watched, the end of the connection stands for its end.
    private func hasClosed(_ deadline: Deadline) throws(ClientError) -> Bool {
        while !deadline.hasPassed {
            do throws(ClientError) {
                _ = try nextEvent(timeoutMs: Int(deadline.pollMs))
            } catch .closed {
                return true
            }
        }
        return false
    }
}
