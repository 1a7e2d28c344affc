// What this machine can do at most: the parts that one chat message cannot do without, in blocking C and nothing around
// them. A figure of the programs means something only beside these, taken at the same time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The floor of one message

// A message's way, client -Unix socket-> relay A -TCP on loopback-> relay B -Unix socket-> client, with the relays as
// processes of their own. They die with the calling thread.
struct limit_chain;

// Bytes of one message, about what a line of chat takes with its fields.
enum { LIMIT_MESSAGE_BYTES = 200 };

// Makes a chain. Bare, the relays only pass bytes on. Honest, A commits to SQLite (WAL, synchronous=NORMAL), signs
// (Ed25519) and seals (ChaCha20-Poly1305), and B opens, verifies and commits; the databases lie in `directory`.
// Returns 0 and the chain, or an error number. `directory` must outlive the chain.
int limit_chain_open(const char *directory, bool honest, struct limit_chain **chain);
// Sends `count` messages (1 … 256) in one go and waits for all. Returns the nanoseconds it took, -1 if the chain broke.
int64_t limit_chain_send(struct limit_chain *chain, int count);
// Nanoseconds of processor time that both relays have taken so far; -1 if the system does not tell.
int64_t limit_chain_cpu_ns(const struct limit_chain *chain);
// Ends the relays and removes their databases.
void limit_chain_close(struct limit_chain *chain);

// MARK: The floor of telling many

// A writer -Unix socket-> a relay, a process of its own -Unix sockets-> those who are told. It dies with the calling
// thread.
struct limit_fan;

// Makes one. Of each write that arrives, every one of `connections` (1 … 64) gets the events of its share of
// `observers`, of `event_bytes` each, in one send(2); `observers` is a multiple of `connections`. With `commits`, the
// write is committed to SQLite first (WAL, synchronous=NORMAL), in `directory`, which must outlive the fan.
// Returns 0 and the fan, or an error number.
int limit_fan_open(
    const char *directory, bool commits, int connections, int observers, size_t event_bytes, struct limit_fan **fan);
// Sends `count` writes (1 … 4096) in one go and waits for all events. Returns the nanoseconds it took, -1 if the fan
// broke.
int64_t limit_fan_send(struct limit_fan *fan, int count);
// Ends the relay and removes its database.
void limit_fan_close(struct limit_fan *fan);
// Reads `lines` lines from each of `count` (1 … 64) sockets, whichever has some, and looks at nothing but their ends.
// Returns 0, or an error number: EPROTO if more came than was asked for.
int limit_take_lines(const int *descriptors, int count, int lines);

// MARK: What one core can do in bulk

enum limit_work {
    LIMIT_SIGN,           // Ed25519 over a message
    LIMIT_VERIFY,
    LIMIT_HASH,           // BLAKE2b-256 of a message
    LIMIT_HASH_BULK,      // BLAKE2b-256 of 1 MiB
    LIMIT_SEAL_BULK,      // ChaCha20-Poly1305 of 1 MiB
    LIMIT_ROWS,           // rows of a message into SQLite, 1,000 in a transaction
};

// Does it for about `duration_ms` and returns how often a second, for the bulk ones bytes a second; negative if it
// failed.
double limit_rate(enum limit_work work, int duration_ms, const char *directory);

// Nanoseconds of CLOCK_MONOTONIC.
int64_t limit_now_ns(void);
