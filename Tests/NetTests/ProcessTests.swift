import CPosix
import Foundation
import Glibc
import Testing

@testable import Net

struct FileLockTests {
    // Taking a lock again is tested in a process of its own: a test that spawns one hands every open descriptor, and
    // with it the lock, to the child for a moment.

    @Test func onlyOneHoldsIt() async {
        await #expect(processExitsWith: .success) {
            try await withDirectory { directory in
                let path = directory + "/lock"
                #expect(FileLock.holder(path: path) == nil)
                var held = try FileLock.tryLock(path: path)
                #expect(held?.path == path)
                #expect(try FileLock.tryLock(path: path) == nil)
                #expect(FileLock.holder(path: path) == getpid())
                held = nil
                #expect(FileLock.holder(path: path) == nil)
                #expect(try FileLock.tryLock(path: path) != nil)
                var status = stat()
                #expect(unsafe lstat(path, &status) == 0)
                #expect(status.st_mode & 0o7777 == 0o600)
            }
        }
    }

    @Test func askingForTheHolderNeverTakesTheLock() async {
        await #expect(processExitsWith: .success) {
            try await withDirectory { directory in
                let path = directory + "/lock"
                _ = try FileLock.tryLock(path: path)
                let asking = try LoopThread.start(name: "asking") {
                    for _ in 0..<200 { _ = FileLock.holder(path: path) }
                }
                for _ in 0..<200 {
                    let held = try FileLock.tryLock(path: path)
                    #expect(held != nil)
                }
                pthread_join(asking, nil)
            }
        }
    }

    @Test(arguments: ["symlink", "fifo", "foreign"])
    func whatIsNoFileOfOursIsRefused(kind: String) async throws {
        try await withDirectory { directory in
            let path = directory + "/lock"
            switch kind {
            case "symlink":
                #expect(FileManager.default.createFile(atPath: directory + "/target", contents: nil))
                #expect(unsafe symlink(directory + "/target", path) == 0)
            case "fifo":
                #expect(unsafe mkfifo(path, 0o600) == 0)
            default:
                #expect(FileManager.default.createFile(atPath: path, contents: nil))
                // Only root can give a file away.
                guard unsafe chown(path, 65534, 65534) == 0 else { return }
            }
            let error = #expect(throws: NetError.self) { _ = try FileLock.tryLock(path: path) }
            #expect(error?.code == .foreignFile)
            #expect(FileLock.holder(path: path) == nil)
        }
    }

    @Test(arguments: ["", "0\n", "-5\n", "99999999999999\n", "\u{0}\u{1}", "x"])
    func nonsenseInTheFileIsNoPid(content: String) async throws {
        try await withDirectory { directory in
            let path = directory + "/lock"
            let held = try FileLock.tryLock(path: path)
            try Data(content.utf8).write(to: URL(fileURLWithPath: path))
            #expect(FileLock.holder(path: path) == nil)
            withExtendedLifetime(held) {}
        }
    }

    @Test func missingDirectoryIsAnError() {
        #expect(throws: NetError.self) { _ = try FileLock.tryLock(path: "/nonexistent/lock") }
        #expect(throws: NetError.self) { _ = try FileLock.tryLock(path: "/tmp/a\0b") }
    }
}

/// One at a time: signals belong to the process.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct SignalSourceTests {
    @Test func signalsArriveOnTheLoop() async throws {
        try await withLoop { loop in
            let (first, second) = (Promise<Bool>(), Promise<Bool>())
            let source = try await loop.run {
                try SignalSource([SIGUSR1, SIGUSR2], on: loop) { signal in
                    (signal == SIGUSR1 ? first : second).fulfil(loop.isOnLoop)
                }
            }
            kill(getpid(), SIGUSR1)
            #expect(await first.value)
            kill(getpid(), SIGUSR2)
            #expect(await second.value)
            try await loop.run { source.cancel() }
        }
    }

    @Test func secondSourceOfASignalIsRefusedUntilTheFirstIsCancelled() async throws {
        try await withLoop { loop in
            try await loop.run {
                let first = try SignalSource([SIGUSR1], on: loop) { _ in }
                let error = #expect(throws: NetError.self) {
                    _ = try SignalSource([SIGUSR2, SIGUSR1], on: loop) { _ in }
                }
                #expect(error?.errno == EBUSY)
                first.cancel()
                // The refused one has let go of what it had taken.
                try SignalSource([SIGUSR2, SIGUSR1], on: loop) { _ in }.cancel()
                for nonsense in [Int32](arrayLiteral: 0, -1, 64, .max) {
                    #expect(throws: NetError.self) { _ = try SignalSource([nonsense], on: loop) { _ in } }
                }
            }
        }
    }

    @Test func cancelGivesTheSignalBack() async {
        await #expect(processExitsWith: .signal(SIGUSR1)) {
            let loop = try EventLoop(name: "signals")
            try await loop.run {
                try SignalSource([SIGUSR1], on: loop) { _ in }.cancel()
            }
            kill(getpid(), SIGUSR1)
        }
    }
}

struct CPosixTests {
    @Test func clockStateIsAYesOrNo() {
        #expect((0...1).contains(starling_clock_is_synchronised()))
    }
}

struct CoreDumpTests {
    /// Neither a crash nor another process of this user gets at the memory.
    @Test func memoryIsNotDumped() async {
        await #expect(processExitsWith: .success) {
            #expect(starling_forbid_core_dumps() == 0)
            var limit = rlimit(rlim_cur: 1, rlim_max: 1)
            #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0)
            #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
        }
    }
}
