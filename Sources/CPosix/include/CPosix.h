// What Swift cannot import from glibc by itself: headers its module map leaves out (epoll, eventfd, netlink), macros
// and structures that only exist with _GNU_SOURCE (SO_PEERCRED, OFD locks), and what has to be safe in a signal
// handler. Every function that can fail returns -1 and leaves the reason in errno unless it says otherwise. Descriptors
// are made close-on-exec and, where that means something, non-blocking.
#pragma once

// No header of the C library that defines types, as sys/types.h does timespec: they would become this module's, and
// Swift files that import Glibc alone would compile or not, as the order of imports in their module has it.
#include <stddef.h>
#include <stdint.h>

// MARK: Readiness (epoll(7), eventfd(2))

enum {
    STARLING_READABLE = 1,   // EPOLLIN: bytes, a connection or the end of the stream can be read
    STARLING_WRITABLE = 2,   // EPOLLOUT
    STARLING_FAILED = 4,     // EPOLLERR: reported always, whether asked for or not
    STARLING_HUNG_UP = 8,    // EPOLLHUP: both directions are over; reported always
};

// One ready descriptor: the token it was registered under and a set of the STARLING_ bits above.
struct starling_ready {
    uint64_t token;
    uint32_t events;
};

// At most this many descriptors are reported by one starling_epoll_wait: a bound on the work between two looks at the
// timers, and on the stack the call uses.
enum { STARLING_READY_MAX = 64 };

int starling_epoll_create(void);
int starling_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t token);
int starling_epoll_change(int epoll, int descriptor, uint32_t events, uint64_t token);
int starling_epoll_remove(int epoll, int descriptor);
// Waits for up to `timeout_ms` (-1: without limit). Returns how many entries of `ready` were filled, 0 after the time
// or an interrupting signal.
int starling_epoll_wait(int epoll, struct starling_ready *ready, int capacity, int timeout_ms);

int starling_eventfd_create(void);
// Makes the eventfd readable. Never blocks; safe from any thread.
void starling_eventfd_signal(int descriptor);
void starling_eventfd_drain(int descriptor);

// MARK: Threads

// Starts a joinable thread that calls body(context). Every signal is blocked in it, so that a handler only ever runs on
// threads that existed before. `name` is cut to 15 bytes (pthread_setname_np(3)). Returns 0 or an error number.
int starling_thread_start(uint64_t *thread, const char *name, size_t stack_size, void (*body)(void *), void *context);

// MARK: Signals

// Routes `signal_number` (1 … 63) into a pipe: a handler writes its number as one byte to `write_descriptor`, which
// must be non-blocking. The earlier disposition is kept for starling_signal_restore. One pipe per signal in a process.
int starling_signal_route(int signal_number, int write_descriptor);
int starling_signal_restore(int signal_number);

// MARK: Secrets

// No memory of this process gets into a core dump or under another process's ptrace from here on (prctl(2)
// PR_SET_DUMPABLE, setrlimit(2) RLIMIT_CORE). Returns 0 if the kernel says that it is so.
int starling_forbid_core_dumps(void);

// MARK: Sockets and pipes

// Accepts a connection, non-blocking and close-on-exec (accept4(2)).
int starling_accept(int listener);
// A pipe whose both ends, reading then writing, are non-blocking and close-on-exec (pipe2(2)).
int starling_pipe(int ends[2]);
// Credentials of the process that connected a Unix stream, as they were when it did (SO_PEERCRED, unix(7)).
int starling_peer_credentials(int descriptor, int32_t *pid, uint32_t *uid, uint32_t *gid);

// A netlink socket that becomes readable whenever a link or an IPv4 or IPv6 address of this host changes
// (rtnetlink(7)).
int starling_netlink_open(void);
// Empties it. Returns 1 if there was anything (also when the kernel had to drop messages), 0 if not.
int starling_netlink_drain(int descriptor);

// The hardware address of an IPv6 neighbour by the kernel's table (rtnetlink(7), RTM_GETNEIGH); /proc has IPv4's alone.
// Returns 1 if it is known, 0 if not.
int starling_neighbour(uint32_t interface, const uint8_t address[16], uint8_t hardware[6]);

// A timer of CLOCK_BOOTTIME, which goes on while the machine is suspended (timerfd_create(2)): what became due meanwhile
// is readable at once when it wakes.
int starling_boot_timer_open(void);
// Sets it anew, once; what is readable of before is gone.
int starling_boot_timer_set(int descriptor, uint64_t delay_ms);

// MARK: Locks

// Takes an exclusive open-file-description lock on the whole file (fcntl(2), F_OFD_SETLK) without waiting: 0 when it is
// ours, 1 when somebody else holds it, -1 on error. It goes when the last copy of the descriptor is closed.
int starling_lock_exclusively(int descriptor);
// Whether somebody holds such a lock: 1, 0 or -1. Takes none itself, so asking never disturbs a starting daemon.
int starling_lock_is_held(int descriptor);

// MARK: Clock

// 1 when the kernel holds the wall clock for synchronised (ntp_adjtime(3): not STA_UNSYNC), else 0. Never fails.
int starling_clock_is_synchronised(void);
#include "Spawn.h"
#include "Screen.h"
