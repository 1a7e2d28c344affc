internal import Dispatch
internal import Foundation
internal import Synchronization

/// The lines that a process writes to one of its streams, kept until a test asks for them.
///
/// Bytes that are not valid UTF-8 are replaced (U+FFFD). One reader at a time gets each line.
public final class LineStream: Sendable {
    private struct State {
        var unread: [String] = []
        var partial: [UInt8] = []
        var all: [UInt8] = []
        var hasEnded = false
        var lastWaiter = 0
        var waiters: [(id: Int, wake: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// Reads the descriptor to its end on a thread of its own and closes it.
    init(reading descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = unsafe read(descriptor, &chunk, chunk.count)
                if count > 0 {
                    append(chunk[..<count])
                } else if count == 0 || errno != EINTR {
                    break
                }
            }
            close(descriptor)
            finish()
        }
    }

    /// Everything read so far, the lines already taken included.
    public var text: String {
        state.withLock { String(decoding: $0.all, as: UTF8.self) }
    }

    /// The next line without its line feed; waits for it. Nil at the end of the stream.
    ///
    /// - Throws: `LabError` when no line has come within the timeout.
    public func nextLine(timeout: Duration = .seconds(60)) async throws -> String? {
        let deadline = ContinuousClock.now + timeout
        while true {
            let (line, ended) = state.withLock { state in
                (state.unread.isEmpty ? nil : state.unread.removeFirst(), state.hasEnded)
            }
            if line != nil || ended {
                return line
            }
            guard await hasChanged(before: deadline) else {
                throw LabError("no line within \(timeout); so far: \(text.debugDescription)")
            }
        }
    }

    /// The next line that the predicate accepts; those before it are dropped.
    ///
    /// - Throws: `LabError` when there is none within the timeout or before the end of the stream.
    public func nextLine(
        timeout: Duration = .seconds(60), where isWanted: (String) -> Bool
    ) async throws -> String {
        let deadline = ContinuousClock.now + timeout
        while let line = try await nextLine(timeout: deadline - ContinuousClock.now) {
            if isWanted(line) {
                return line
            }
        }
        throw LabError("the stream ended before the line awaited: \(text.debugDescription)")
    }

    /// Waits for the end of the stream; false when it has not come within the timeout.
    func end(timeout: Duration) async -> Bool {
        let deadline = ContinuousClock.now + timeout
        while !state.withLock({ $0.hasEnded }) {
            guard await hasChanged(before: deadline) else {
                return false
            }
        }
        return true
    }

    /// Waits until there is something unread or the stream has ended; false at the deadline.
    private func hasChanged(before deadline: ContinuousClock.Instant) async -> Bool {
        let secondsLeft = (deadline - ContinuousClock.now) / .seconds(1)
        guard secondsLeft > 0 else {
            return false
        }
        return await withCheckedContinuation { wake in
            let id: Int? = state.withLock { state in
                guard state.unread.isEmpty, !state.hasEnded else {
                    return nil
                }
                state.lastWaiter += 1
                state.waiters.append((state.lastWaiter, wake))
                return state.lastWaiter
            }
            guard let id else {
                return wake.resume(returning: true)
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + secondsLeft) { [weak self] in
                let expired = self?.state.withLock { state in
                    state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
                }
                expired?.wake.resume(returning: false)
            }
        }
    }

    private func append(_ chunk: ArraySlice<UInt8>) {
        change { state in
            state.all += chunk
            for byte in chunk {
                if byte == UInt8(ascii: "\n") {
                    state.unread.append(String(decoding: state.partial, as: UTF8.self))
                    state.partial = []
                } else {
                    state.partial.append(byte)
                }
            }
        }
    }

    private func finish() {
        change { state in
            if !state.partial.isEmpty {
                state.unread.append(String(decoding: state.partial, as: UTF8.self))
                state.partial = []
            }
            state.hasEnded = true
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let woken = state.withLock { state in
            body(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in woken {
            waiter.wake.resume(returning: true)
        }
    }
}
