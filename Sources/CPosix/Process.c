#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

struct start {
    void (*body)(void *);
    void *context;
    char name[16];
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), start.name);
    start.body(start.context);
    return NULL;
}

int starling_thread_start(uint64_t *thread, const char *name, size_t stack_size, void (*body)(void *), void *context) {
    struct start *start = calloc(1, sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;
    strncpy(start->name, name, sizeof start->name - 1);

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error) {
        free(start);
        return error;
    }
    error = pthread_attr_setstacksize(&attributes, stack_size);
    pthread_t identifier = 0;
    if (!error) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        error = pthread_create(&identifier, &attributes, run, start);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (error)
        free(start);
    else
        *thread = (uint64_t)identifier;
    return error;
}

enum { SIGNALS = 64 };
// Descriptor plus one; 0 means that the signal is not routed.
static atomic_int routes[SIGNALS];
static struct sigaction earlier[SIGNALS];

static void on_signal(int signal_number) {
    int saved = errno;
    int route = atomic_load(&routes[signal_number]);
    if (route > 0) {
        unsigned char byte = (unsigned char)signal_number;
        // A full pipe is no loss: the reader has signals to act on already.
        ssize_t written = write(route - 1, &byte, 1);
        (void)written;
    }
    errno = saved;
}

int starling_signal_route(int signal_number, int write_descriptor) {
    if (signal_number < 1 || signal_number >= SIGNALS || write_descriptor < 0) {
        errno = EINVAL;
        return -1;
    }
    int unrouted = 0;
    if (!atomic_compare_exchange_strong(&routes[signal_number], &unrouted, write_descriptor + 1)) {
        errno = EBUSY;
        return -1;
    }
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    if (sigaction(signal_number, &action, &earlier[signal_number]) < 0) {
        atomic_store(&routes[signal_number], 0);
        return -1;
    }
    return 0;
}

int starling_signal_restore(int signal_number) {
    if (signal_number < 1 || signal_number >= SIGNALS || atomic_load(&routes[signal_number]) == 0) {
        errno = EINVAL;
        return -1;
    }
    int result = sigaction(signal_number, &earlier[signal_number], NULL);
    atomic_store(&routes[signal_number], 0);
    return result;
}

int starling_lock_exclusively(int descriptor) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return 0;
    return errno == EAGAIN || errno == EACCES ? 1 : -1;
}

int starling_lock_is_held(int descriptor) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_OFD_GETLK, &lock) < 0) return -1;
    return lock.l_type != F_UNLCK;
}

int starling_clock_is_synchronised(void) {
    struct timex state = {0};
    int result = ntp_adjtime(&state);
    return result >= 0 && result != TIME_ERROR && !(state.status & STA_UNSYNC);
}

int starling_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none)) return -1;
    struct rlimit now;
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || getrlimit(RLIMIT_CORE, &now) || now.rlim_cur != 0) return -1;
    return 0;
}
