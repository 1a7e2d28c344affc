#pragma once
#include <stdint.h>

/// Starts a program in a session of its own, so that it outlives the terminal: standard input from /dev/null, working
/// directory "/", no signal blocked or ignored. `argv` ends with NULL. Returns 0 and the process id, or an errno.
int starling_spawn(const char *path, char *const argv[], int stdout_fd, int stderr_fd, int32_t *pid);

/// A descriptor that becomes readable when the process that listens at the other end of a Unix socket has ended
/// (pidfd_open(2)). -1 and errno if it cannot be had, as across PID namespaces.
int starling_pidfd_of_peer(int socket);
