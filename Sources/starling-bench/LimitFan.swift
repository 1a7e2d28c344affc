internal import CLimit

/// The floor of telling many what one has written; see `limit_fan_open`.
@safe
final class LimitFan {
    private let fan: OpaquePointer

    /// - Parameters:
    ///   - commits: whether each write is stored first.
    ///   - connections: of those who are told; the observers are dealt out to them evenly.
    ///   - eventBytes: what one observer is told of one write.
    init(in scratch: ScratchFolder, commits: Bool, connections: Int, observers: Int, eventBytes: Int) throws(BenchError)
    {
        var opened: OpaquePointer?
        let error = unsafe limit_fan_open(
            scratch.path, commits, Int32(connections), Int32(observers), eventBytes, &opened)
        guard error == 0, let opened = unsafe opened else { throw .system(doing: "opening a fan", errno: error) }
        unsafe fan = opened
    }

    deinit { unsafe limit_fan_close(fan) }

    /// Writes in one go and waits until everybody has been told of all; returns nanoseconds.
    func send(_ count: Int) throws(BenchError) -> Int64 {
        let ns = unsafe limit_fan_send(fan, Int32(count))
        guard ns > 0 else { throw .unexpected("the limit's fan broke") }
        return ns
    }
}
