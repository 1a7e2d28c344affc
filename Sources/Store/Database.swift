internal import CSQLite
internal import Glibc

/// One SQLite connection and the statements prepared on it, all confined to one actor (`SQLITE_OPEN_NOMUTEX`).
@safe
final class Database {
    /// Bytes of pages kept in memory: enough for the upper levels of every index; the kernel caches the rest of the
    /// file.
    private static let cacheKiB = 2048
    /// The write-ahead log is cut back to this after a burst: what it usually takes, so that its file need not grow
    /// again and again.
    private static let logBytesMax = (logPages + 256) * (pageBytes + 24)
    private var handle: OpaquePointer?
    private var statements: [Statement] = []
    /// Nil for one without a name.
    private var path: String?
    private var logPace: LogPace?

    /// Before the first database of the process is opened; later it would change nothing.
    private static let configured: Void = starling_configure()

    /// Opens a file, and creates it with mode 0600 where there is none.
    init(path: String, busyTimeoutMs: Int32) throws {
        Database.configured
        try Database.create(path)
        self.path = path
        // sqlite3_open leaves a handle even when it fails; it has to be closed all the same.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let result = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK else {
            let error = error(result)
            close()
            throw error
        }
        _ = unsafe sqlite3_busy_timeout(handle, busyTimeoutMs)
    }

    /// Bytes of pages that a temporary database keeps in memory; only beyond them it takes a file.
    private static let temporaryCacheKiB = 1024

    /// A database of this connection alone that is gone when it is closed: in memory as long as it is small, then in a
    /// file that has no name.
    ///
    /// - `temporaryBytesMax`: beyond it writing fails with ``StoreError/Code/diskFull``.
    init(temporaryBytesMax: Int) throws {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let result = unsafe sqlite3_open_v2("", &handle, flags, nil)
        guard result == SQLITE_OK else {
            let error = error(result)
            close()
            throw error
        }
        // Nobody wants back what a crash leaves of it.
        try execute("PRAGMA journal_mode=OFF")
        try execute("PRAGMA synchronous=OFF")
        try execute("PRAGMA cache_size=-\(Database.temporaryCacheKiB)")
        try execute("PRAGMA max_page_count=\(max(1, temporaryBytesMax / Database.pageBytes))")
    }

    /// SQLite's default.
    private static let pageBytes = 4096

    deinit { close() }

    /// Made here so that no moment exists at which others could read it; SQLite gives the log the same mode.
    private static func create(_ path: String) throws {
        let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            _ = Glibc.close(descriptor)
        } else if errno == ENOSPC || errno == EDQUOT {
            throw StoreError(.diskFull, detail: "open")
        } else if errno != EEXIST {
            throw StoreError(.cannotOpen, detail: "open: errno \(errno)")
        } else if unsafe chmod(path, 0o600) != 0 {
            throw StoreError(.cannotOpen, detail: "chmod: errno \(errno)")
        }
    }

    /// One connection for everything, so the lock is never given back, and the log's index needs no shared memory: a
    /// file that could not be made on a full disk. Has to come before the first read.
    func lock() throws { try execute("PRAGMA locking_mode=EXCLUSIVE") }

    /// Power loss may lose the last commits (`synchronous=NORMAL`), the death of the process none.
    ///
    /// - Parameter isNew: nothing is in the file yet, so nothing waits for the disk before ``finishCreation()``: all
    ///   that a power loss can damage until then is an empty database.
    func configure(isNew: Bool) throws {
        try execute("PRAGMA synchronous=\(isNew ? "OFF" : "NORMAL")")
        try execute("PRAGMA journal_mode=WAL")
        try execute("PRAGMA cache_size=-\(Database.cacheKiB)")
        try execute("PRAGMA mmap_size=0")
        try execute("PRAGMA journal_size_limit=\(Database.logBytesMax)")
        if let path {
            let pace = LogPace(path: path + "-wal", framesMax: Database.logPages)
            unsafe pace.follow(try opened())
            logPace = pace
        }
        try execute("PRAGMA trusted_schema=OFF")
        try execute("PRAGMA cell_size_check=ON")
    }

    /// Bytes of pages kept in memory while entries arrive in bulk: the same pages change again and again, and each time
    /// one is written costs twice.
    private static let bulkCacheKiB = 16 << 10
    /// Pages of the log, 16 MiB. It is written back when nothing else happens (``writeBack()``); this is for who writes
    /// without a pause. Whoever writes then waits for about a millisecond, and with SQLite's default of 1,000 pages
    /// that is one message in a hundred. A longer log makes opening after a crash slower.
    private static let logPages = 4096

    /// Prepares for many changes, or gives back what that took.
    func expectMuch(_ isBulk: Bool) throws {
        try execute("PRAGMA cache_size=-\(isBulk ? Database.bulkCacheKiB : Database.cacheKiB)")
        if !isBulk { try execute("PRAGMA shrink_memory") }
    }

    /// Writes the log back into the file, so that nobody has to wait for it later.
    func writeBack() throws { try execute("PRAGMA wal_checkpoint(PASSIVE)") }

    /// From here on commits keep their order on the disk.
    func finishCreation() throws { try execute("PRAGMA synchronous=NORMAL") }

    /// Ends all statements and closes; every later use throws ``StoreError/Code/closed``.
    func close() {
        for statement in statements { statement.finalize() }
        statements = []
        guard let open = unsafe handle else { return }
        unsafe handle = nil
        _ = unsafe sqlite3_close_v2(open)
    }

    /// A statement that is prepared when it first runs, and then kept.
    func statement(_ sql: String) -> Statement {
        let statement = Statement(self, sql)
        statements.append(statement)
        return statement
    }

    /// Runs one or more statements without results or parameters.
    func execute(_ sql: String) throws {
        let result = unsafe sqlite3_exec(try opened(), sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result) }
    }

    /// The first column of a statement's only row.
    func integer(_ sql: String) throws -> Int64 {
        let statement = Statement(self, sql)
        defer { statement.finalize() }
        return try statement.first { $0.integer(0) } ?? 0
    }

    /// Runs `body` inside one transaction: everything it wrote is durable against the death of this process when this
    /// returns, or nothing of it happened.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try begin.run()
        do {
            let result = try body()
            try commit.run()
            return result
        } catch {
            // SQLite may have rolled back by itself ("Transaction", its response to errors).
            if let handle = unsafe handle, unsafe sqlite3_get_autocommit(handle) == 0 { try? rollback.run() }
            throw error
        }
    }

    /// Steps of SQLite's virtual machine between two questions. FTS5 takes about four for each page that it reads.
    private static let questionSteps: Int32 = 16

    /// Runs `body`, and ends the statement that it runs, or any other that it begins, as soon as `goesOn` says no.
    ///
    /// Asked while pages are read, which no statement that takes long does without. For statements that only read: one
    /// that writes would be rolled back. What a virtual table gives after a no may be wrong.
    func interruptible<Result>(while goesOn: () -> Bool, _ body: () throws -> Result) throws -> Result {
        try withoutActuallyEscaping(goesOn) { goesOn in
            let question = Question(goesOn)
            let context = unsafe Unmanaged.passUnretained(question).toOpaque()
            let connection = unsafe try opened()
            unsafe sqlite3_progress_handler(
                connection, Database.questionSteps,
                { context in
                    guard let context = unsafe context else { return 0 }
                    return unsafe Unmanaged<Question>.fromOpaque(context).takeUnretainedValue().goesOn() ? 0 : 1
                }, context)
            defer { unsafe sqlite3_progress_handler(connection, 0, nil, nil) }
            return try withExtendedLifetime(question) { try body() }
        }
    }

    private final class Question {
        let goesOn: () -> Bool
        init(_ goesOn: @escaping () -> Bool) { self.goesOn = goesOn }
    }

    private lazy var begin = statement("BEGIN IMMEDIATE")
    private lazy var commit = statement("COMMIT")
    private lazy var rollback = statement("ROLLBACK")

    func opened() throws -> OpaquePointer {
        guard let handle = unsafe handle else { throw StoreError(.closed) }
        return unsafe handle
    }

    func error(_ result: Int32) -> StoreError {
        let message = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
        let code: StoreError.Code =
            switch result & 0xFF {
            case SQLITE_FULL: .diskFull
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            case SQLITE_BUSY, SQLITE_LOCKED: .inUse
            case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: .cannotOpen
            case SQLITE_IOERR: .inputOutput
            default: .other
            }
        return StoreError(code, resultCode: result, detail: message)
    }

    /// Bytes of the file and of its log.
    func fileBytes() throws -> Int {
        _ = try unsafe opened()
        guard let path else { return 0 }
        return [path, path + "-wal"].reduce(0) { bytes, path in
            var status = stat()
            return unsafe stat(path, &status) == 0 ? bytes + Int(clamping: status.st_size) : bytes
        }
    }

    /// Steps of SQLite's virtual machine that the kept statements have taken: the cost of a read, whatever the machine.
    var virtualMachineSteps: Int { statements.reduce(0) { $0 + $1.virtualMachineSteps } }
}
