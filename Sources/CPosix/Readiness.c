#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static uint32_t to_epoll(uint32_t events) {
    uint32_t result = 0;
    if (events & STARLING_READABLE) result |= EPOLLIN;
    if (events & STARLING_WRITABLE) result |= EPOLLOUT;
    return result;
}

static uint32_t from_epoll(uint32_t events) {
    uint32_t result = 0;
    if (events & EPOLLIN) result |= STARLING_READABLE;
    if (events & EPOLLOUT) result |= STARLING_WRITABLE;
    if (events & EPOLLERR) result |= STARLING_FAILED;
    if (events & EPOLLHUP) result |= STARLING_HUNG_UP;
    return result;
}

int starling_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int starling_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = to_epoll(events), .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

int starling_epoll_change(int epoll, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = to_epoll(events), .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}

int starling_epoll_remove(int epoll, int descriptor) { return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL); }

int starling_epoll_wait(int epoll, struct starling_ready *ready, int capacity, int timeout_ms) {
    struct epoll_event events[STARLING_READY_MAX];
    if (capacity > STARLING_READY_MAX) capacity = STARLING_READY_MAX;
    int count = epoll_wait(epoll, events, capacity, timeout_ms);
    if (count < 0) return errno == EINTR ? 0 : -1;
    for (int i = 0; i < count; i++) {
        ready[i].token = events[i].data.u64;
        ready[i].events = from_epoll(events[i].events);
    }
    return count;
}

int starling_eventfd_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void starling_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    // EAGAIN means that the counter is full, so the descriptor is readable already.
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

void starling_eventfd_drain(int descriptor) {
    uint64_t count;
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {}
}
