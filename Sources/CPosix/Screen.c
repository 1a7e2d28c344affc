#define _GNU_SOURCE
#include "Screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios cooked;
static int terminal = -1;
static int wake[2] = {-1, -1};
static volatile sig_atomic_t is_raw;

static void put(const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(terminal, text, left);
        if (written < 0 && errno != EINTR) return;
        if (written > 0) {
            text += written;
            left -= (size_t)written;
        }
    }
}

static int enter(void) {
    struct termios raw = cooked;
    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cflag |= CS8;
    // Output processing stays: a newline goes to the first column.
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(terminal, TCSADRAIN, &raw) != 0) return errno;
    is_raw = 1;
    put("\x1b[?2004h");
    return 0;
}

void starling_screen_restore(void) {
    if (!is_raw) return;
    is_raw = 0;
    put("\x1b[?2004l\r\x1b[J");
    tcsetattr(terminal, TCSADRAIN, &cooked);
}

static void wake_up(void) {
    int saved = errno;
    // Full means that a wake-up waits already.
    if (write(wake[1], "", 1) < 0) errno = saved;
    errno = saved;
}

static void on_resize(int signal) {
    (void)signal;
    wake_up();
}

// SA_RESETHAND has put the default back, so the signal raised here does what it would have done.
static void on_death(int signal) {
    starling_screen_restore();
    raise(signal);
}

void starling_screen_suspend(void) {
    int saved = errno;
    starling_screen_restore();
    raise(SIGSTOP);
    enter();
    wake_up();
    errno = saved;
}

static void on_stop(int signal) {
    (void)signal;
    starling_screen_suspend();
}

static void on_continue(int signal) {
    (void)signal;
    // After an untold SIGSTOP the shell has changed the mode behind our back.
    int saved = errno;
    if (is_raw) enter();
    wake_up();
    errno = saved;
}

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {0};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

int starling_screen_raw(int fd) {
    static const int deaths[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGSEGV,
                                 SIGBUS,  SIGILL, SIGFPE, SIGTRAP, SIGPIPE, SIGALRM};
    if (wake[0] < 0) {
        if (tcgetattr(fd, &cooked) != 0) return errno;
        if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
        terminal = fd;
        atexit(starling_screen_restore);
        // Let through even where whoever started us had them blocked: nothing else could end a chat that hangs.
        sigset_t let_through;
        sigemptyset(&let_through);
        for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
            handle(deaths[i], on_death, SA_RESETHAND | SA_NODEFER);
            sigaddset(&let_through, deaths[i]);
        }
        handle(SIGTSTP, on_stop, SA_RESTART);
        handle(SIGCONT, on_continue, SA_RESTART);
        handle(SIGWINCH, on_resize, SA_RESTART);
        sigaddset(&let_through, SIGTSTP);
        sigaddset(&let_through, SIGCONT);
        sigaddset(&let_through, SIGWINCH);
        sigprocmask(SIG_UNBLOCK, &let_through, NULL);
    }
    return is_raw ? 0 : enter();
}

int starling_screen_wake_fd(void) { return wake[0]; }

int starling_screen_size(int fd, int *columns, int *rows) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) return errno;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}
