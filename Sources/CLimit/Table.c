#define _GNU_SOURCE
#include "Table.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct limit_table {
    char *path;
    sqlite3 *database;
    sqlite3_stmt *insert;
    long rows;
};

struct limit_table *limit_table_make(const char *directory, const char *name) {
    struct limit_table *table = calloc(1, sizeof *table);
    if (table && asprintf(&table->path, "%s/limit-%s.db", directory, name) < 0) {
        free(table);
        return NULL;
    }
    return table;
}

static bool execute(struct limit_table *table, const char *sql) {
    return sqlite3_exec(table->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool limit_table_open(struct limit_table *table) {
    return sqlite3_open(table->path, &table->database) == SQLITE_OK
        && execute(
            table,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE entry(path BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        && sqlite3_prepare_v2(
               table->database, "INSERT OR REPLACE INTO entry VALUES(?, ?)", -1, &table->insert, NULL) == SQLITE_OK;
}

bool limit_table_put(struct limit_table *table, const void *bytes, size_t count) {
    char path[80];
    int length = snprintf(path, sizeof path, "channels/-KmLvuZfWAmvictV04_u/messages/-Km%018ld", table->rows++);
    sqlite3_bind_blob(table->insert, 1, path, length, SQLITE_STATIC);
    sqlite3_bind_blob(table->insert, 2, bytes, (int)count, SQLITE_STATIC);
    bool done = sqlite3_step(table->insert) == SQLITE_DONE;
    sqlite3_reset(table->insert);
    return done;
}

bool limit_table_begin(struct limit_table *table) {
    return execute(table, "BEGIN");
}

bool limit_table_commit(struct limit_table *table) {
    return execute(table, "COMMIT");
}

void limit_table_remove(struct limit_table *table) {
    if (!table) return;
    sqlite3_finalize(table->insert);
    sqlite3_close(table->database);
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (int index = 0; index < 3; index++) {
        char *file = NULL;
        if (asprintf(&file, "%s%s", table->path, endings[index]) < 0) continue;
        unlink(file);
        free(file);
    }
    free(table->path);
    free(table);
}
