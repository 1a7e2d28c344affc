#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
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

// Whether one message tells of the neighbour; its hardware address goes to `hardware`.
static int is_neighbour(
    struct nlmsghdr *message, uint32_t interface, const uint8_t address[16], uint8_t hardware[6]
) {
    struct ndmsg *row = NLMSG_DATA(message);
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof *row) || row->ndm_ifindex != (int)interface) return 0;
    // A neighbour that has never answered has no address; one that has not been asked lately still has it.
    if (row->ndm_state & (NUD_INCOMPLETE | NUD_FAILED | NUD_NOARP)) return 0;
    int length = (int)(message->nlmsg_len - NLMSG_LENGTH(sizeof *row));
    int is_it = 0, has_it = 0;
    struct rtattr *part = (struct rtattr *)((char *)row + NLMSG_ALIGN(sizeof *row));
    for (; RTA_OK(part, length); part = RTA_NEXT(part, length)) {
        if (part->rta_type == NDA_DST && RTA_PAYLOAD(part) == 16) {
            is_it = memcmp(RTA_DATA(part), address, 16) == 0;
        } else if (part->rta_type == NDA_LLADDR && RTA_PAYLOAD(part) == 6) {
            memcpy(hardware, RTA_DATA(part), 6);
            has_it = 1;
        }
    }
    return is_it && has_it;
}

int starling_neighbour(uint32_t interface, const uint8_t address[16], uint8_t hardware[6]) {
    struct {
        struct nlmsghdr header;
        struct ndmsg row;
    } request = {
        .header = {
            .nlmsg_len = sizeof request, .nlmsg_type = RTM_GETNEIGH, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
        },
        .row = {.ndm_family = AF_INET6, .ndm_ifindex = (int)interface},
    };
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct timeval limit = {.tv_sec = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    int found = 0, is_over = 0;
    if (sendto(descriptor, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0) found = -1;
    _Alignas(struct nlmsghdr) char buffer[32768];
    // Bounded: a table of thousands of neighbours takes some dozens of these.
    for (int i = 0; i < 256 && found == 0 && !is_over; i++) {
        struct sockaddr_nl sender = {0};
        socklen_t size = sizeof sender;
        ssize_t count = recvfrom(descriptor, buffer, sizeof buffer, 0, (struct sockaddr *)&sender, &size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        if (sender.nl_pid != 0) continue;
        int left = (int)count;
        struct nlmsghdr *message = (struct nlmsghdr *)buffer;
        for (; NLMSG_OK(message, left) && found == 0; message = NLMSG_NEXT(message, left)) {
            if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) is_over = 1;
            if (message->nlmsg_type == RTM_NEWNEIGH) found = is_neighbour(message, interface, address, hardware);
        }
    }
    close(descriptor);
    return found;
}

int starling_boot_timer_open(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }

int starling_boot_timer_set(int descriptor, uint64_t delay_ms) {
    struct itimerspec due = {
        .it_value = {.tv_sec = (time_t)(delay_ms / 1000), .tv_nsec = (long)(delay_ms % 1000) * 1000000},
    };
    return timerfd_settime(descriptor, 0, &due, NULL);
}
