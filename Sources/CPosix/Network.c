#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int starling_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int starling_pipe(int ends[2]) { return pipe2(ends, O_NONBLOCK | O_CLOEXEC); }

int starling_peer_credentials(int descriptor, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return -1;
    // A TCP socket answers too, with nobody's credentials.
    if (size != sizeof credentials || credentials.pid <= 0) {
        errno = ENODATA;
        return -1;
    }
    *pid = credentials.pid;
    *uid = credentials.uid;
    *gid = credentials.gid;
    return 0;
}

int starling_netlink_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        int saved = errno;
        close(descriptor);
        errno = saved;
        return -1;
    }
    return descriptor;
}

int starling_netlink_drain(int descriptor) {
    char buffer[8192];
    int any = 0;
    // Bounded, so that a storm of changes cannot keep the caller here: what is left makes the socket readable again.
    for (int i = 0; i < 64; i++) {
        struct sockaddr_nl sender = {0};
        socklen_t size = sizeof sender;
        ssize_t count =
            recvfrom(descriptor, buffer, sizeof buffer, MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
        if (count < 0) {
            if (errno == EINTR) continue;
            if (errno == ENOBUFS) {
                any = 1;
                continue;
            }
            break;
        }
        // Only the kernel (port 0) is believed.
        if (sender.nl_pid == 0) any = 1;
    }
    return any;
}

int starling_boot_timer_open(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }

int starling_boot_timer_set(int descriptor, uint64_t delay_ms) {
    struct itimerspec due = {
        .it_value = {.tv_sec = (time_t)(delay_ms / 1000), .tv_nsec = (long)(delay_ms % 1000) * 1000000},
    };
    return timerfd_settime(descriptor, 0, &due, NULL);
}
