#define _GNU_SOURCE
#include "Table.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, TURN_BYTES_MAX = 1 << 20, WRITES_MAX = 4096 };

struct limit_fan {
    int connections;
    int writer;
    int readers[CONNECTIONS_MAX];
    // Bytes that each connection gets for one write.
    size_t turn_bytes;
    // Events among them.
    int turn_events;
    pid_t relay;
    struct limit_table *table;
};

// Writes bytes meanwhile: whoever writes all before he reads stands still once the sockets are full.
static int take_lines(const int *descriptors, int count, int lines, int writer, const char *rest, size_t rest_count) {
    struct pollfd waiting[CONNECTIONS_MAX + 1];
    int left[CONNECTIONS_MAX];
    if (count < 1 || count > CONNECTIONS_MAX) return EINVAL;
    for (int index = 0; index < count; index++) {
        waiting[index] = (struct pollfd){.fd = descriptors[index], .events = POLLIN};
        left[index] = lines;
    }
    waiting[count] = (struct pollfd){.fd = rest_count ? writer : -1, .events = POLLOUT};
    static char bytes[64 << 10];
    for (int open = lines > 0 ? count : 0; open > 0;) {
        int ready = poll(waiting, (nfds_t)count + 1, 30000);
        if (ready <= 0) return ready == 0 ? ETIMEDOUT : errno;
        if (waiting[count].revents) {
            ssize_t sent = send(writer, rest, rest_count, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0) return errno;
            rest += sent;
            rest_count -= (size_t)sent;
            if (!rest_count) waiting[count].fd = -1;
        }
        for (int index = 0; index < count; index++) {
            if (!waiting[index].revents) continue;
            ssize_t got = recv(descriptors[index], bytes, sizeof bytes, MSG_DONTWAIT);
            if (got < 0) return errno;
            if (got == 0) return ECONNRESET;
            const char *end = bytes + got, *next = bytes;
            while ((next = memchr(next, '\n', (size_t)(end - next)))) {
                next++;
                left[index]--;
            }
            if (left[index] > 0) continue;
            // More than was waited for is no event of this burst: nothing of the kind may be under way.
            if (left[index] < 0 || end[-1] != '\n') return EPROTO;
            waiting[index].fd = -1;
            open--;
        }
    }
    return 0;
}

int limit_take_lines(const int *descriptors, int count, int lines) {
    return take_lines(descriptors, count, lines, -1, NULL, 0);
}

static bool put(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

static void relay(int writer, const int *readers, const struct limit_fan *fan, const char *turn) {
    char message[LIMIT_MESSAGE_BYTES];
    while (recv(writer, message, sizeof message, MSG_WAITALL) == sizeof message) {
        if (fan->table && !limit_table_put(fan->table, message, sizeof message)) return;
        for (int index = 0; index < fan->connections; index++)
            if (!put(readers[index], turn, fan->turn_bytes)) return;
    }
}

// The child's ends are handed over: here they are closed whatever happens.
static int start(struct limit_fan *fan, int writer, const int *readers) {
    char *turn = malloc(fan->turn_bytes);
    if (!turn) return ENOMEM;
    memset(turn, 'x', fan->turn_bytes);
    size_t event = fan->turn_bytes / (size_t)fan->turn_events;
    for (size_t end = event; end <= fan->turn_bytes; end += event) turn[end - 1] = '\n';
    pid_t parent = getpid();
    fan->relay = fork();
    if (fan->relay == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        close(fan->writer);
        for (int index = 0; index < fan->connections; index++) close(fan->readers[index]);
        if (!fan->table || limit_table_open(fan->table)) relay(writer, readers, fan, turn);
        _exit(0);
    }
    free(turn);
    return fan->relay < 0 ? errno : 0;
}

int limit_fan_open(
    const char *directory, bool commits, int connections, int observers, size_t event_bytes,
    struct limit_fan **result) {
    if (connections < 1 || connections > CONNECTIONS_MAX || observers < 1 || observers % connections || event_bytes < 1
        || event_bytes > (size_t)(TURN_BYTES_MAX / observers)) return EINVAL;
    struct limit_fan *fan = calloc(1, sizeof *fan);
    if (!fan) return ENOMEM;
    fan->writer = -1;
    fan->turn_events = observers / connections;
    fan->turn_bytes = event_bytes * (size_t)fan->turn_events;
    int writer[2] = {-1, -1}, readers[CONNECTIONS_MAX];
    int error = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, writer) < 0) error = errno;
    fan->writer = writer[0];
    for (int index = 0; index < connections && !error; index++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
            error = errno;
            break;
        }
        fan->readers[index] = pair[0];
        readers[index] = pair[1];
        fan->connections++;
    }
    if (!error && commits && !(fan->table = limit_table_make(directory, "fan"))) error = ENOMEM;
    if (!error) error = start(fan, writer[1], readers);
    if (writer[1] >= 0) close(writer[1]);
    for (int index = 0; index < fan->connections; index++) close(readers[index]);
    if (error) {
        limit_fan_close(fan);
        return error;
    }
    *result = fan;
    return 0;
}

int64_t limit_fan_send(struct limit_fan *fan, int count) {
    if (count < 1 || count > WRITES_MAX) return -1;
    static char messages[WRITES_MAX * LIMIT_MESSAGE_BYTES];
    size_t size = (size_t)count * LIMIT_MESSAGE_BYTES;
    memset(messages, 'x', size);
    int64_t start = limit_now_ns();
    int error = take_lines(fan->readers, fan->connections, fan->turn_events * count, fan->writer, messages, size);
    return error ? -1 : limit_now_ns() - start;
}

void limit_fan_close(struct limit_fan *fan) {
    if (fan->relay > 0) {
        kill(fan->relay, SIGKILL);
        waitpid(fan->relay, NULL, 0);
    }
    if (fan->writer >= 0) close(fan->writer);
    for (int index = 0; index < fan->connections; index++) close(fan->readers[index]);
    limit_table_remove(fan->table);
    free(fan);
}
