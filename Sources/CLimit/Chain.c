#define _GNU_SOURCE
#include "Table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGE = LIMIT_MESSAGE_BYTES,
    SIGNED = MESSAGE + crypto_sign_BYTES,
    SEALED = SIGNED + crypto_aead_chacha20poly1305_ietf_ABYTES,
    BURST_MAX = 256,
};

struct limit_chain {
    int to_a, from_b;
    pid_t a, b;
    struct limit_table *table_a, *table_b;
};

struct keys {
    unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    unsigned char key[crypto_aead_chacha20poly1305_ietf_KEYBYTES], nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
};

int64_t limit_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool read_all(int descriptor, unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t got = read(descriptor, bytes, count);
        if (got <= 0) return false;
        bytes += got;
        count -= (size_t)got;
    }
    return true;
}

static bool write_all(int descriptor, const unsigned char *bytes, size_t count) {
    while (count > 0) {
        ssize_t put = send(descriptor, bytes, count, MSG_NOSIGNAL);
        if (put < 0) return false;
        bytes += put;
        count -= (size_t)put;
    }
    return true;
}

static void relay_a(int client, int peer, const struct keys *keys, struct limit_table *table) {
    unsigned char message[SIGNED], sealed[SEALED];
    while (read_all(client, message, MESSAGE)) {
        if (!table) {
            if (!write_all(peer, message, MESSAGE)) return;
            continue;
        }
        if (!limit_table_put(table, message, MESSAGE)) return;
        crypto_sign_detached(message + MESSAGE, NULL, message, MESSAGE, keys->secret);
        crypto_aead_chacha20poly1305_ietf_encrypt(
            sealed, NULL, message, SIGNED, NULL, 0, NULL, keys->nonce, keys->key);
        if (!write_all(peer, sealed, SEALED)) return;
    }
}

static void relay_b(int peer, int client, const struct keys *keys, struct limit_table *table) {
    unsigned char message[SIGNED], sealed[SEALED];
    while (read_all(peer, sealed, table ? SEALED : MESSAGE)) {
        if (!table) {
            if (!write_all(client, sealed, MESSAGE)) return;
            continue;
        }
        if (crypto_aead_chacha20poly1305_ietf_decrypt(
                message, NULL, NULL, sealed, SEALED, NULL, 0, keys->nonce, keys->key)
            || crypto_sign_verify_detached(message + MESSAGE, message, MESSAGE, keys->public)) return;
        if (!limit_table_put(table, message, SIGNED) || !write_all(client, message, MESSAGE)) return;
    }
}

// Two ends of a TCP connection on loopback, as peers have it.
static int tcp_pair(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[1] = -1;
    int error = 0;
    if (listener < 0 || ends[0] < 0 || bind(listener, (struct sockaddr *)&address, size) < 0
        || listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &size) < 0
        || connect(ends[0], (struct sockaddr *)&address, size) < 0
        || (ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) {
        error = errno;
    } else {
        for (int end = 0; end < 2; end++) setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    if (listener >= 0) close(listener);
    return error;
}

// A relay holds nothing but its own two sockets: the end of any part must be the end of the chain.
static pid_t start_relay(
    void (*relay)(int, int, const struct keys *, struct limit_table *), int in, int out, const int others[4],
    const struct keys *keys, struct limit_table *table) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (int index = 0; index < 4; index++) close(others[index]);
    if (!table || limit_table_open(table)) relay(in, out, keys, table);
    _exit(0);
}

int limit_chain_open(const char *directory, bool honest, struct limit_chain **result) {
    if (sodium_init() < 0) return ENOSYS;
    struct limit_chain *chain = calloc(1, sizeof *chain);
    if (!chain) return ENOMEM;
    int a[2] = {-1, -1}, b[2] = {-1, -1}, peers[2] = {-1, -1};
    struct keys keys;
    randombytes_buf(&keys, sizeof keys);
    crypto_sign_keypair(keys.public, keys.secret);
    int error = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a) < 0
        || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b) < 0) error = errno;
    if (!error) error = tcp_pair(peers);
    if (!error && honest) {
        chain->table_a = limit_table_make(directory, "a");
        chain->table_b = limit_table_make(directory, "b");
        if (!chain->table_a || !chain->table_b) error = ENOMEM;
    }
    if (!error) {
        chain->a = start_relay(
            relay_a, a[1], peers[0], (int[4]){a[0], b[0], b[1], peers[1]}, &keys, chain->table_a);
        if (chain->a < 0) error = errno;
    }
    if (!error) {
        chain->b = start_relay(
            relay_b, peers[1], b[1], (int[4]){a[0], a[1], b[0], peers[0]}, &keys, chain->table_b);
        if (chain->b < 0) error = errno;
    }
    int handed_over[4] = {a[1], b[1], peers[0], peers[1]};
    for (int index = 0; index < 4; index++) if (handed_over[index] >= 0) close(handed_over[index]);
    chain->to_a = a[0];
    chain->from_b = b[0];
    if (error) {
        limit_chain_close(chain);
        return error;
    }
    *result = chain;
    return 0;
}

int64_t limit_chain_send(struct limit_chain *chain, int count) {
    unsigned char messages[BURST_MAX * MESSAGE];
    if (count < 1 || count > BURST_MAX) return -1;
    size_t size = (size_t)count * MESSAGE;
    memset(messages, 'x', size);
    int64_t start = limit_now_ns();
    if (!write_all(chain->to_a, messages, size) || !read_all(chain->from_b, messages, size)) return -1;
    return limit_now_ns() - start;
}

int64_t limit_process_cpu_ns(int child) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(child, &clock) || clock_gettime(clock, &time) < 0) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t limit_chain_cpu_ns(const struct limit_chain *chain) {
    int64_t a = limit_process_cpu_ns(chain->a), b = limit_process_cpu_ns(chain->b);
    return a < 0 || b < 0 ? -1 : a + b;
}

static void end(pid_t child) {
    if (child <= 0) return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

void limit_chain_close(struct limit_chain *chain) {
    end(chain->a);
    end(chain->b);
    if (chain->to_a >= 0) close(chain->to_a);
    if (chain->from_b >= 0) close(chain->from_b);
    limit_table_remove(chain->table_a);
    limit_table_remove(chain->table_b);
    free(chain);
}
