#pragma once
#include <sys/types.h>

/// Starts a program in a session of its own, so that it outlives the terminal: standard input from /dev/null, working
/// directory "/", no signal blocked or ignored. `argv` ends with NULL. Returns 0 and the process id, or an errno.
int starling_spawn(const char *path, char *const argv[], int stdout_fd, int stderr_fd, pid_t *pid);
