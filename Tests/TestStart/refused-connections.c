#define _GNU_SOURCE
#include "TestStart.h"
#include <stdatomic.h>

static atomic_int refused;

void refuse_connections(int count) { atomic_store(&refused, count); }

#if defined(__linux__)
#include <dlfcn.h>
#include <errno.h>

// Stands before libc's for the whole test program. Without its header, which has a union for the address.
int accept4(int socket, void *address, void *length, int flags) {
  static int (*_Atomic next)(int, void *, void *, int);
  if (!next) next = dlsym(RTLD_NEXT, "accept4");
  int left = atomic_load(&refused);
  while (left > 0 && !atomic_compare_exchange_weak(&refused, &left, left - 1)) {}
  if (left == 0) return next(socket, address, length, flags);
  errno = EMFILE;
  return -1;
}
#endif
