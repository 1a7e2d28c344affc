internal import Foundation
internal import Synchronization

/// A started program and this side's ends of its streams.
///
/// Not Foundation's `Process`: on Linux that takes a program for running as long as any descendant of it does.
struct Spawn {
    let id: pid_t
    /// Descriptors: its standard input to write to, its standard output and standard error to read from.
    let input, output, errors: Int32

    /// One at a time: a program started between `pipe` and `fcntl` would hold another one's streams open.
    private static let turn = Mutex(())

    /// Starts the program `arguments[0]`, looked up in PATH. It has every signal unblocked and at its default.
    init(_ arguments: [String], environment: [String: String]) throws {
        self = try Self.turn.withLock { _ in try Self(holdingTurn: arguments, environment) }
    }

    private init(holdingTurn arguments: [String], _ environment: [String: String]) throws {
        let (input, output, errors) = (try Self.makePipe(), try Self.makePipe(), try Self.makePipe())
        defer {
            for descriptor in [input.read, output.write, errors.write] {
                close(descriptor)
            }
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (index, descriptor) in [input.read, output.write, errors.write].enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(index))
        }

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var id: pid_t = 0
        let failure = unsafe Self.withCStrings(arguments) { argv in
            unsafe Self.withCStrings(environment.map { "\($0)=\($1)" }) { envp in
                guard let program = unsafe argv[0] else {
                    return EINVAL
                }
                return unsafe posix_spawnp(&id, program, &actions, &attributes, argv, envp)
            }
        }
        guard failure == 0 else {
            for descriptor in [input.write, output.read, errors.read] {
                close(descriptor)
            }
            throw LabError("cannot start \(arguments): error \(failure)")
        }
        self.id = id
        self.input = input.write
        self.output = output.read
        self.errors = errors.read
    }

    /// Waits for the end of the program and returns its status as a shell says it. To be called once.
    static func reap(_ id: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(id, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw LabError("pipe: error \(errno)")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return (ends[0], ends[1])
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
        defer {
            unsafe pointers.forEach { unsafe free($0) }
        }
        return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else {
                preconditionFailure("an array of at least one element has an address")
            }
            return unsafe body(base)
        }
    }
}
