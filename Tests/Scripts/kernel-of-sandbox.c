// A kernel or a sandbox that does not know its connections: stands before libc's getsockopt(2), and changes the answer to TCP_INFO
// as the variable KERNEL says. With `late` the kernel is honest, but a thread loses the processor when it has sent a request for `/slow`.
// Preloaded by add-up-phases.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int getsockopt(int descriptor, int level, int option, void *value, socklen_t *length) {
  int (*next)(int, int, int, void *, socklen_t *) = dlsym(RTLD_NEXT, "getsockopt");
  int result = next(descriptor, level, option, value, length);
  const char *kernel = getenv("KERNEL");
  if (!kernel || level != IPPROTO_TCP || option != 11 || result != 0) return result;
  unsigned char *bytes = value;
  if (!strcmp(kernel, "refused")) {
    errno = EPERM;
    return -1;
  }
  if (!strcmp(kernel, "zeros")) memset(bytes, 0, *length);
  if (!strcmp(kernel, "short") && *length > 8) *length = 8;
  if (!strcmp(kernel, "garbage")) {
    for (socklen_t index = 0; index < *length; index++) bytes[index] = random();
  }
  if (!strcmp(kernel, "state")) {
    // What is left: the state, `tcpi_rto` at 8, `tcpi_rtt` and its variance at 68.
    for (socklen_t index = 1; index < *length; index++) {
      if (index < 8 || (index >= 12 && index < 68) || index >= 76) bytes[index] = 0;
    }
  }
  return 0;
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
  ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
  ssize_t result = next(descriptor, bytes, count, flags);
  const char *kernel = getenv("KERNEL");
  const char *line = result > 0 ? memchr(bytes, '\r', result) : NULL;
  if (kernel && !strcmp(kernel, "late") && line && memmem(bytes, line - (const char *)bytes, "/slow ", 6)) {
    int error = errno;
    usleep(30000);
    errno = error;
  }
  return result;
}
