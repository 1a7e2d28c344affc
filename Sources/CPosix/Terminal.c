#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <wchar.h>

int starling_terminal_size(int descriptor, unsigned *columns, unsigned *rows) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) < 0) return -1;
    if (size.ws_col == 0 || size.ws_row == 0) {
        errno = ENODATA;
        return -1;
    }
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

static struct termios kept;
// Descriptor plus one; 0 means that no mode is kept.
static atomic_int kept_for;

int starling_terminal_set_raw(int descriptor) {
    struct termios mode;
    if (tcgetattr(descriptor, &mode) < 0) return -1;
    if (atomic_load(&kept_for) == 0) {
        kept = mode;
        atomic_store(&kept_for, descriptor + 1);
    }
    cfmakeraw(&mode);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    return tcsetattr(descriptor, TCSAFLUSH, &mode);
}

int starling_terminal_restore(void) {
    int target = atomic_exchange(&kept_for, 0);
    return target == 0 ? 0 : tcsetattr(target - 1, TCSAFLUSH, &kept);
}

static locale_t utf8;
static pthread_once_t utf8_once = PTHREAD_ONCE_INIT;

static void make_utf8(void) { utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

int starling_wcwidth(uint32_t scalar) {
    if (scalar > 0x10FFFF) return -1;
    pthread_once(&utf8_once, make_utf8);
    if (utf8 == (locale_t)0) return wcwidth((wchar_t)scalar);
    locale_t before = uselocale(utf8);
    int width = wcwidth((wchar_t)scalar);
    uselocale(before);
    return width;
}
