#define _GNU_SOURCE
#include "Spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int prepare(posix_spawnattr_t *attributes, posix_spawn_file_actions_t *actions, int stdout_fd, int stderr_fd) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    int error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(actions, stdout_fd, STDOUT_FILENO);
    if (!error) error = posix_spawn_file_actions_adddup2(actions, stderr_fd, STDERR_FILENO);
    if (!error) error = posix_spawn_file_actions_addchdir_np(actions, "/");
    return error;
}

int starling_spawn(const char *path, char *const argv[], int stdout_fd, int stderr_fd, int32_t *pid) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = prepare(&attributes, &actions, stdout_fd, stderr_fd);
        if (!error) error = posix_spawn(pid, path, &actions, &attributes, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

int starling_pidfd_of_peer(int socket) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    if (peer.pid <= 0) {
        errno = ESRCH;
        return -1;
    }
    // Close-on-exec by itself.
    return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}
