#define _GNU_SOURCE
#include "CLimit.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

// Clients that cost as little as possible: what is measured is the daemon.

enum { WAIT_MS = 30000, CHUNK = 256 << 10, READERS_MAX = 64 };

static int count_lines(const char *bytes, size_t count) {
    int lines = 0;
    for (const char *end = bytes + count; (bytes = memchr(bytes, '\n', (size_t)(end - bytes))); bytes++) lines++;
    return lines;
}

// Whether the sender's socket or the receiver's is waited for, and for what.
static void watch(const struct limit_burst *burst, struct pollfd ends[2]) {
    ends[0] = (struct pollfd){.fd = burst->sender, .events = burst->count ? POLLIN | POLLOUT : POLLIN};
    ends[1] = (struct pollfd){.fd = burst->receiver, .events = POLLIN};
}

static int burst_write(struct limit_burst *burst) {
    ssize_t sent = send(burst->sender, burst->requests, burst->count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN ? 0 : errno;
    burst->requests = (const char *)burst->requests + sent;
    burst->count -= (size_t)sent;
    return 0;
}

static int burst_take_answers(struct limit_burst *burst) {
    static char chunk[CHUNK];
    ssize_t got = recv(burst->sender, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got <= 0) return got < 0 ? errno : ECONNRESET;
    burst->answers -= count_lines(chunk, (size_t)got);
    return 0;
}

static int burst_take_events(struct limit_burst *burst) {
    if (burst->filled == burst->room) return EMSGSIZE;
    char *into = (char *)burst->into + burst->filled;
    ssize_t got = recv(burst->receiver, into, burst->room - burst->filled, MSG_DONTWAIT);
    if (got <= 0) return got < 0 ? errno : ECONNRESET;
    burst->events -= count_lines(into, (size_t)got);
    burst->filled += (size_t)got;
    burst->ns = limit_now_ns() - burst->start_ns;
    return 0;
}

int limit_burst_run(struct limit_burst *burst, int wait_ms) {
    if (!burst->start_ns) burst->start_ns = limit_now_ns();
    while (burst->events > 0 || burst->answers > 0) {
        struct pollfd ends[2];
        watch(burst, ends);
        int ready = poll(ends, 2, wait_ms);
        if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
        int error = 0;
        if (ends[0].revents & POLLOUT) error = burst_write(burst);
        if (!error && ends[0].revents & ~POLLOUT) error = burst_take_answers(burst);
        if (!error && ends[1].revents) error = burst_take_events(burst);
        if (error) return error;
    }
    return 0;
}

struct crowd {
    struct pollfd ends[READERS_MAX + 1];
    char *parts[READERS_MAX];
    size_t part_counts[READERS_MAX];
    int next[READERS_MAX];
    int messages, readers, left;
    struct limit_crowd *result;
};

// An event's text begins with the message's number and the nanosecond when it was due.
static void take_event(struct crowd *crowd, int reader, const char *line, size_t count) {
    static const char before[] = "\"text\":\"";
    const char *text = memmem(line, count, before, sizeof before - 1);
    int number;
    long long due;
    if (!text || sscanf(text + sizeof before - 1, "%d %lld ", &number, &due) != 2) return;
    struct limit_crowd *result = crowd->result;
    if (number != crowd->next[reader]) result->misplaced++;
    crowd->next[reader] = number + 1;
    if (result->delivered < (int64_t)crowd->messages * crowd->readers)
        result->latencies_ns[result->delivered] = limit_now_ns() - due;
    result->delivered++;
    crowd->left--;
}

static int take_events(struct crowd *crowd, int reader) {
    char *part = crowd->parts[reader];
    size_t held = crowd->part_counts[reader];
    ssize_t got = recv(crowd->ends[reader].fd, part + held, CHUNK - held, MSG_DONTWAIT);
    if (got <= 0) return got < 0 ? errno : ECONNRESET;
    char *line = part, *end = part + held + got, *stop;
    while ((stop = memchr(line, '\n', (size_t)(end - line)))) {
        *stop = 0;
        take_event(crowd, reader, line, (size_t)(stop - line));
        line = stop + 1;
    }
    crowd->part_counts[reader] = (size_t)(end - line);
    memmove(part, line, crowd->part_counts[reader]);
    return crowd->part_counts[reader] == CHUNK ? EMSGSIZE : 0;
}

static int put_all(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) return errno;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 0;
}

static int crowd_run(struct crowd *crowd, const char *head, const char *tail, int64_t apart_ns) {
    static char answers[CHUNK];
    int64_t start = limit_now_ns();
    for (int sent = 0; crowd->left > 0;) {
        int64_t due = start + sent * apart_ns, wait = due - limit_now_ns();
        while (sent < crowd->messages && wait <= 0) {
            char line[1024];
            int count = snprintf(line, sizeof line, "%s%07d %019lld%s\n", head, sent, (long long)due, tail);
            if (count >= (int)sizeof line) return EMSGSIZE;
            int error = put_all(crowd->ends[crowd->readers].fd, line, (size_t)count);
            if (error) return error;
            due = start + ++sent * apart_ns;
            wait = due - limit_now_ns();
        }
        if (sent == crowd->messages) wait = (int64_t)WAIT_MS * 1000000;
        struct timespec time = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
        int ready = ppoll(crowd->ends, (nfds_t)crowd->readers + 1, &time, NULL);
        if (ready < 0) return errno;
        if (ready == 0 && sent == crowd->messages) return ETIMEDOUT;
        if (crowd->ends[crowd->readers].revents
            && recv(crowd->ends[crowd->readers].fd, answers, sizeof answers, MSG_DONTWAIT) <= 0) return ECONNRESET;
        for (int reader = 0; reader < crowd->readers; reader++) {
            int error = crowd->ends[reader].revents ? take_events(crowd, reader) : 0;
            if (error) return error;
        }
    }
    return 0;
}

int limit_crowd_run(
    int writer, const char *head, const char *tail, int per_second, int messages, const int *readers, int count,
    struct limit_crowd *result) {
    if (count < 1 || count > READERS_MAX || per_second < 1 || messages < 1) return EINVAL;
    struct crowd crowd = {.messages = messages, .readers = count, .left = messages * count, .result = result};
    result->delivered = result->misplaced = 0;
    int error = 0;
    for (int reader = 0; reader < count; reader++) {
        crowd.ends[reader] = (struct pollfd){.fd = readers[reader], .events = POLLIN};
        if (!(crowd.parts[reader] = malloc(CHUNK))) error = ENOMEM;
    }
    crowd.ends[count] = (struct pollfd){.fd = writer, .events = POLLIN};
    if (!error) error = crowd_run(&crowd, head, tail, 1000000000 / per_second);
    for (int reader = 0; reader < count; reader++) free(crowd.parts[reader]);
    return error;
}
