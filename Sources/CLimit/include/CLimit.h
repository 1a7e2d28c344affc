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

// MARK: Clients that cost little

// Requests that are written as fast as they are taken, and the events that another client has of them. All but `ns`
// and `start_ns`, which begin as 0, is set before; what is left to be done is counted down.
struct limit_burst {
    int sender, receiver;
    const void *requests;
    size_t count;           // bytes of them
    int answers, events;    // lines that are still to come
    void *into;             // where the events are put
    size_t room, filled;    // bytes of it
    int64_t start_ns;
    int64_t ns;             // from the start until the last event that has come
};

// Goes on until all has come, which is 0, or returns an error number: ETIMEDOUT when nothing came for `wait_ms`, after
// which it may be called again; EMSGSIZE without room.
int limit_burst_run(struct limit_burst *burst, int wait_ms);

struct limit_crowd {
    int64_t *latencies_ns;  // room for messages × readers
    int64_t delivered;
    int64_t misplaced;      // events that were not the next one of their reader
};

// Writes a request of `head`, the message's number and the nanosecond at which it is due, and `tail`, `per_second` times
// a second, and waits until each of `count` (1 … 64) readers has an event for each. A latency is from when a message was
// due until its event was read, so that a writer that is held up hides nothing. Returns 0, or an error number: ETIMEDOUT
// when nothing came for 30 s after the last was written.
int limit_crowd_run(
    int writer, const char *head, const char *tail, int per_second, int messages, const int *readers, int count,
    struct limit_crowd *result);

// Nanoseconds of processor time that a process has taken so far with all its threads; -1 if the system does not tell.
int64_t limit_process_cpu_ns(int process);

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
