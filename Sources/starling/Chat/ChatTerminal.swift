internal import CPosix
internal import ControlClient
internal import Glibc

/// The terminal while the chat runs: raw, and put back whatever ends the chat.
enum ChatTerminal {
    /// - Throws: ``ClientError/system(doing:errno:)`` if standard input is no terminal after all.
    static func enter() throws(ClientError) {
        let failure = starling_screen_raw(STDIN_FILENO)
        guard failure == 0 else { throw .system(doing: "changing the terminal's mode", errno: failure) }
    }

    static func leave() {
        starling_screen_restore()
    }

    static func suspend() {
        starling_screen_suspend()
    }

    /// What woke the chat up.
    struct Wake {
        var input = false
        var resized = false
        var daemon = false
    }

    /// Waits for keys, a new window size or the daemon.
    static func wait(daemon: Int32?, timeoutMs: Int32) -> Wake {
        var entries = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: starling_screen_wake_fd(), events: Int16(POLLIN), revents: 0),
            pollfd(fd: daemon ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let count = nfds_t(entries.count)
        let ready = unsafe entries.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return Int32(0) }
            return unsafe poll(base, count, timeoutMs)
        }
        guard ready > 0 else { return Wake() }
        return Wake(
            input: entries[0].revents != 0, resized: entries[1].revents != 0, daemon: entries[2].revents != 0)
    }

    /// What was typed; nil at the end of input.
    static func read() -> ArraySlice<UInt8>? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, 4_096) }
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        return count > 0 ? bytes[..<count] : nil
    }

    /// Empties the descriptor that told of the new size.
    static func drainWake() {
        var bytes = [UInt8](repeating: 0, count: 64)
        let descriptor = starling_screen_wake_fd()
        while unsafe bytes.withUnsafeMutableBytes({ unsafe Glibc.read(descriptor, $0.baseAddress, 64) }) == 64 {}
    }

    /// Milliseconds on a clock that nobody sets.
    static func nowMs() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
