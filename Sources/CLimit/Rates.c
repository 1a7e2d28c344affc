#include "Table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = LIMIT_MESSAGE_BYTES, BULK = 1 << 20, ROWS = 1000 };

struct work {
    unsigned char *bulk, *sealed;
    unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    unsigned char signature[crypto_sign_BYTES], hash[crypto_generichash_BYTES];
    unsigned char key[crypto_aead_chacha20poly1305_ietf_KEYBYTES], nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    struct limit_table *table;
};

static bool rows(struct work *work) {
    if (!limit_table_begin(work->table)) return false;
    for (int row = 0; row < ROWS; row++)
        if (!limit_table_put(work->table, work->bulk, MESSAGE)) return false;
    return limit_table_commit(work->table);
}

// Does it once and returns how much that counts for; negative if it failed.
static double once(struct work *work, enum limit_work kind) {
    switch (kind) {
    case LIMIT_SIGN:
        crypto_sign_detached(work->signature, NULL, work->bulk, MESSAGE, work->secret);
        return 1;
    case LIMIT_VERIFY:
        return crypto_sign_verify_detached(work->signature, work->bulk, MESSAGE, work->public) ? -1 : 1;
    case LIMIT_HASH:
        crypto_generichash(work->hash, sizeof work->hash, work->bulk, MESSAGE, NULL, 0);
        return 1;
    case LIMIT_HASH_BULK:
        crypto_generichash(work->hash, sizeof work->hash, work->bulk, BULK, NULL, 0);
        return BULK;
    case LIMIT_SEAL_BULK:
        crypto_aead_chacha20poly1305_ietf_encrypt(
            work->sealed, NULL, work->bulk, BULK, NULL, 0, NULL, work->nonce, work->key);
        return BULK;
    case LIMIT_ROWS:
        return rows(work) ? ROWS : -1;
    }
    return -1;
}

static bool prepare(struct work *work, enum limit_work kind, const char *directory) {
    work->bulk = malloc(BULK);
    work->sealed = malloc(BULK + crypto_aead_chacha20poly1305_ietf_ABYTES);
    if (!work->bulk || !work->sealed || sodium_init() < 0) return false;
    memset(work->bulk, 7, BULK);
    crypto_sign_keypair(work->public, work->secret);
    crypto_sign_detached(work->signature, NULL, work->bulk, MESSAGE, work->secret);
    if (kind != LIMIT_ROWS) return true;
    work->table = limit_table_make(directory, "rows");
    return work->table && limit_table_open(work->table);
}

double limit_rate(enum limit_work kind, int duration_ms, const char *directory) {
    struct work work = {0};
    double done = prepare(&work, kind, directory) ? 0 : -1;
    int64_t start = limit_now_ns(), now = start;
    while (done >= 0 && now - start < (int64_t)duration_ms * 1000000) {
        double part = once(&work, kind);
        done = part < 0 ? part : done + part;
        now = limit_now_ns();
    }
    limit_table_remove(work.table);
    free(work.bulk);
    free(work.sealed);
    return done > 0 ? done / ((double)(now - start) * 1e-9) : -1;
}
