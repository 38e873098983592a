/// What Linux has and Swift's module of the C library does not name.
///
/// Without that library's headers, and under names of its own: else the types in them, such as `timeval`, would be this module's too, and
/// an app that imports the C library alone could not use them (SE-0444).
#pragma once

#ifdef __linux__
/// `struct epoll_event`, which is packed on x86-64 alone.
typedef struct {
  unsigned int events;
  unsigned long long data;
}
#ifdef __x86_64__
__attribute__((packed))
#endif
TapEpollEvent;

int tapEpollCreate(int flags) __asm__("epoll_create1");
int tapEpollControl(int epoll, int operation, int descriptor, TapEpollEvent *event) __asm__("epoll_ctl");
int tapEpollWait(int epoll, TapEpollEvent *events, int capacity, int milliseconds) __asm__("epoll_wait");
int tapFileSystemStatus(int descriptor, void *status) __asm__("fstatfs");
int tapAccept(int socket, void *address, void *length, int flags) __asm__("accept4");
#endif
