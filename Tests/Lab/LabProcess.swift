internal import Dispatch
internal import Foundation
internal import Synchronization

/// What a finished command left behind.
public struct LabResult: Sendable {
    /// The exit status, or 128 plus the signal that ended it, as a shell says it.
    public let status: Int32
    /// What it wrote to standard output.
    public let out: String
    /// What it wrote to standard error.
    public let err: String
}

/// A program that a test has started, on a lab host or on this machine.
///
/// It is killed when the last reference goes, so that a failing test leaves nothing running.
public final class LabProcess: Sendable {
    /// Its lines on standard output.
    public let output: LineStream
    /// Its lines on standard error.
    public let errors: LineStream
    /// Its process id, which on a lab host is the program's own.
    public let id: Int32

    private let input: Mutex<Int32?>
    private let end: End

    /// The program's status once it has ended. Signals are sent under the same lock, never to a reaped id.
    private final class End: Sendable {
        let status = Mutex<Int32?>(nil)
        let group = DispatchGroup()
    }

    /// Starts the program `arguments[0]`, looked up in PATH unless it is a path, with this machine's environment and
    /// the given changes to it.
    public init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let inherited = ProcessInfo.processInfo.environment
        let spawn = try Spawn(arguments, environment: inherited.merging(environment) { $1 })
        id = spawn.id
        input = Mutex(spawn.input)
        output = LineStream(reading: spawn.output)
        errors = LineStream(reading: spawn.errors)
        let end = End()
        end.group.enter()
        Thread.detachNewThread { [id = spawn.id] in
            // Waits without reaping, so that the id stays taken until the status is set.
            var info = unsafe siginfo_t()
            while unsafe waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            end.status.withLock { $0 = Spawn.reap(id) }
            end.group.leave()
        }
        self.end = end
    }

    deinit {
        kill(SIGKILL)
        closeInput()
    }

    /// True until it has ended.
    public var isRunning: Bool {
        end.status.withLock { $0 == nil }
    }

    /// The next line on standard output; see `LineStream`.
    public func nextLine(timeout: Duration = .seconds(60)) async throws -> String? {
        try await output.nextLine(timeout: timeout)
    }

    /// Writes the text and a line feed to its standard input.
    ///
    /// - Throws: `LabError` when the program has ended or has closed it.
    public func send(line: String) throws {
        try write("\(line)\n")
    }

    /// Writes to its standard input; one that has ended is an error, not a SIGPIPE. The signal is held back only here,
    /// because a handler for the whole process would change what the other tests see.
    private func write(_ text: String) throws {
        var (pipeSignal, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&pipeSignal)
        unsafe sigaddset(&pipeSignal, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
        defer {
            var now = timespec()
            unsafe sigtimedwait(&pipeSignal, nil, &now)
            unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        try input.withLock { descriptor in
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes {
                    unsafe Glibc.write(descriptor ?? -1, $0.baseAddress, $0.count)
                }
                guard count >= 0 || errno == EINTR else {
                    throw LabError("cannot write to process \(id): error \(errno)")
                }
                rest = rest.dropFirst(max(count, 0))
            }
        }
    }

    /// Ends its standard input.
    public func closeInput() {
        input.withLock { descriptor in
            _ = descriptor.map(close)
            descriptor = nil
        }
    }

    /// Sends it a signal; nothing happens when it has ended already.
    public func kill(_ signal: Int32) {
        end.status.withLock { status in
            if status == nil {
                _ = Glibc.kill(id, signal)
            }
        }
    }

    /// Asks it to end (SIGTERM).
    public func terminate() {
        kill(SIGTERM)
    }

    /// Waits for its end and returns its status as in `LabResult`.
    ///
    /// - Throws: `LabError` when it is still running after the timeout.
    @discardableResult
    public func wait(timeout: Duration = .seconds(60)) async throws -> Int32 {
        await withCheckedContinuation { continuation in
            // Not on the cooperative pool: this blocks.
            Thread.detachNewThread { [end] in
                _ = end.group.wait(timeout: .now() + timeout / .seconds(1))
                continuation.resume()
            }
        }
        return try status(after: timeout)
    }

    /// The same, but blocks the calling thread.
    func waitBlocking(timeout: Duration) throws -> Int32 {
        _ = end.group.wait(timeout: .now() + timeout / .seconds(1))
        return try status(after: timeout)
    }

    private func status(after timeout: Duration) throws -> Int32 {
        guard let status = end.status.withLock({ $0 }) else {
            throw LabError("still running after \(timeout); it wrote \(output.text.debugDescription)")
        }
        return status
    }

    /// Gives it the input, waits for its end and returns what it wrote. It is killed at the timeout.
    ///
    /// - Throws: `LabError` when it is still running after the timeout.
    public func finish(input: String = "", timeout: Duration = .seconds(60)) async throws -> LabResult {
        // On a thread of its own, because a program that does not read makes this block until it ends.
        Thread.detachNewThread { [self] in
            try? write(input)
            closeInput()
        }
        do {
            let status = try await wait(timeout: timeout)
            // A grandchild may hold the streams open; what the program itself wrote is there by then.
            _ = await (output.end(timeout: .seconds(1)), errors.end(timeout: .seconds(1)))
            return LabResult(status: status, out: output.text, err: errors.text)
        } catch {
            kill(SIGKILL)
            throw error
        }
    }
}
