#define _GNU_SOURCE
#include "TestStart.h"
#include <stdatomic.h>

static atomic_int refused;

void refuse_threads(int count) { atomic_store(&refused, count); }

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_OTHER_START
#endif
#endif

#if defined(__linux__) && !defined(HAS_OTHER_START)
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

// Stands before libc's for the whole test program.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  static int (*_Atomic next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!next) next = dlsym(RTLD_NEXT, "pthread_create");
  int left = attributes ? 0 : atomic_load(&refused);
  while (left > 0 && !atomic_compare_exchange_weak(&refused, &left, left - 1)) {}
  return left != 0 ? EAGAIN : next(thread, attributes, start, argument);
}
#endif
