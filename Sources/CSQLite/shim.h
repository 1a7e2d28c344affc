#define _GNU_SOURCE
#include <fcntl.h>
#include <sqlite3.h>

// Variadic, which Swift does not import. Without counts of all memory in use, allocations need no lock.
static inline void starling_configure(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift does not import.
static inline int starling_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
static inline int starling_bind_text(sqlite3_stmt *statement, int index, const char *utf8, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, utf8, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// Begins to write this part of a file to the disk, and does not wait for it. Glibc's own module leaves it out.
static inline int starling_begin_writing(int file, long long offset, long long count) {
    return sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
}
