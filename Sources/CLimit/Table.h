#pragma once
#include "CLimit.h"

// One table of messages by path in a SQLite file of its own, as a daemon would keep it at the very least.
struct limit_table;

// Only the name; NULL without memory.
struct limit_table *limit_table_make(const char *directory, const char *name);
bool limit_table_open(struct limit_table *table);
// A row under the next path, in a transaction of its own unless one is open.
bool limit_table_put(struct limit_table *table, const void *bytes, size_t count);
bool limit_table_begin(struct limit_table *table);
bool limit_table_commit(struct limit_table *table);
// Closes it, removes the files and frees it; NULL is ignored.
void limit_table_remove(struct limit_table *table);
