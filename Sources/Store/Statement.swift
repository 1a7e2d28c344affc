internal import CSQLite
internal import Seal

/// A value given to a statement.
enum SQLValue {
    case integer(Int64)
    case blob([UInt8])
    case slice(ArraySlice<UInt8>)
    case hash(Bytes32)
    /// All but the first eight bytes.
    case hashRest(Bytes32)
    case text(String)
    case null

    static func bytes(_ value: Bytes32) -> SQLValue { .hash(value) }
    /// The first eight bytes of an id, as a number whose order is theirs.
    static func prefix(_ prefix: UInt64) -> SQLValue { .integer(Int64(bitPattern: prefix ^ 1 << 63)) }
    static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }
}

/// A prepared statement. May be run while it is running (a scan inside a scan): the inner run gets a statement of its
/// own.
@safe
final class Statement {
    private unowned let database: Database
    private let sql: String
    private var handle: OpaquePointer?
    private var isRunning = false

    init(_ database: Database, _ sql: String) {
        self.database = database
        self.sql = sql
    }

    deinit { finalize() }

    func finalize() {
        if let handle = unsafe handle { _ = unsafe sqlite3_finalize(handle) }
        unsafe handle = nil
    }

    /// Runs to the end; rows are ignored.
    func run(_ values: SQLValue...) throws { try each(values) { _ in true } }

    /// What `read` makes of the first row; nil where there is none.
    func first<Result>(_ values: SQLValue..., read: (borrowing Row) throws -> Result) throws -> Result? {
        try first(values, read: read)
    }

    func first<Result>(_ values: [SQLValue], read: (borrowing Row) throws -> Result) throws -> Result? {
        var result: Result?
        try each(values) { row in
            result = try read(row)
            return false
        }
        return result
    }

    /// What `read` makes of each row.
    func all<Result>(_ values: SQLValue..., read: (borrowing Row) throws -> Result) throws -> [Result] {
        var results: [Result] = []
        try each(values) { row in
            results.append(try read(row))
            return true
        }
        return results
    }

    /// Visits rows until the body returns false.
    func each(_ values: [SQLValue], _ body: (borrowing Row) throws -> Bool) throws {
        guard !isRunning else {
            let inner = Statement(database, sql)
            defer { inner.finalize() }
            return try inner.each(values, body)
        }
        let statement = unsafe try prepared()
        isRunning = true
        defer {
            _ = unsafe sqlite3_reset(statement)
            _ = unsafe sqlite3_clear_bindings(statement)
            isRunning = false
        }
        for (index, value) in values.enumerated() { unsafe try bind(statement, Int32(index + 1), value) }
        while true {
            let result = unsafe sqlite3_step(statement)
            switch result {
            case SQLITE_ROW:
                if unsafe try !body(Row(statement)) { return }
            case SQLITE_DONE: return
            default: throw database.error(result)
            }
        }
    }

    private func prepared() throws -> OpaquePointer {
        if let handle = unsafe handle { return unsafe handle }
        let connection = unsafe try database.opened()
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let result = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &handle, nil)
        guard result == SQLITE_OK, let handle = unsafe handle else { throw database.error(result) }
        return unsafe handle
    }

    private func bind(_ statement: OpaquePointer, _ index: Int32, _ value: SQLValue) throws {
        let result =
            switch value {
            case .integer(let value): unsafe sqlite3_bind_int64(statement, index, value)
            case .blob(let bytes):
                // A null pointer would bind NULL instead of an empty blob.
                bytes.isEmpty
                    ? unsafe sqlite3_bind_zeroblob(statement, index, 0)
                    : unsafe starling_bind_blob(statement, index, bytes, UInt64(bytes.count))
            case .slice(let bytes):
                unsafe bytes.withUnsafeBufferPointer { buffer in
                    buffer.isEmpty
                        ? unsafe sqlite3_bind_zeroblob(statement, index, 0)
                        : unsafe starling_bind_blob(statement, index, buffer.baseAddress, UInt64(buffer.count))
                }
            case .hash(let hash):
                unsafe hash.withBytes { unsafe starling_bind_blob(statement, index, $0, 32) }
            case .hashRest(let hash):
                unsafe hash.withBytes { unsafe starling_bind_blob(statement, index, $0 + 8, 24) }
            case .text(let text): unsafe starling_bind_text(statement, index, text, UInt64(text.utf8.count))
            case .null: unsafe sqlite3_bind_null(statement, index)
            }
        guard result == SQLITE_OK else { throw database.error(result) }
    }

    var virtualMachineSteps: Int {
        guard let handle = unsafe handle else { return 0 }
        return Int(unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 0))
    }
}

/// The current row of a running statement.
@safe
struct Row: ~Copyable {
    private let statement: OpaquePointer

    init(_ statement: OpaquePointer) { unsafe self.statement = statement }

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

    func blob(_ column: Int32) -> [UInt8] {
        let bytes = unsafe sqlite3_column_blob(statement, column)
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    func text(_ column: Int32) -> String { String(decoding: blob(column), as: UTF8.self) }

    func bytes32(_ column: Int32) throws -> Bytes32 {
        let start = unsafe sqlite3_column_blob(statement, column)
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        guard let bytes = unsafe Bytes32(UnsafeRawBufferPointer(start: start, count: count)) else {
            throw StoreError(.corrupt, detail: "not 32 bytes")
        }
        return bytes
    }

    /// The first eight bytes of an id, which stand in a column as a number whose order is theirs.
    func prefix64(_ column: Int32) -> UInt64 { UInt64(bitPattern: integer(column)) ^ 1 << 63 }

    /// An id: its first eight bytes in a column and the others in the next.
    func id(_ column: Int32) throws -> Bytes32 {
        let rest = unsafe sqlite3_column_blob(statement, column + 1)
        let count = unsafe Int(sqlite3_column_bytes(statement, column + 1))
        let bytes = unsafe UnsafeRawBufferPointer(start: rest, count: count)
        guard let id = unsafe Bytes32(prefix: prefix64(column), rest: bytes) else {
            throw StoreError(.corrupt, detail: "not 32 bytes")
        }
        return id
    }

    func signature(_ column: Int32) throws -> Signature {
        guard let signature = Signature(blob(column)) else { throw StoreError(.corrupt, detail: "not 64 bytes") }
        return signature
    }

    /// A count or an index, which is never negative.
    func count(_ column: Int32) throws -> Int {
        guard let count = Int(exactly: integer(column)), count >= 0 else {
            throw StoreError(.corrupt, detail: "a negative count")
        }
        return count
    }
}
