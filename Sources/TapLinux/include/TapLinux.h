/// What Linux has and Swift's module of the C library does not name.
#pragma once

#ifdef __linux__
#include <sys/epoll.h>

// glibc declares it where _GNU_SOURCE is defined, which it is not for Swift. Without the header, whose types are those of that
// module.
struct sockaddr;
int accept4(int socket, struct sockaddr *address, unsigned int *length, int flags);
#endif
