// Counts the calls of malloc and its kin in a process that it is loaded into (LD_PRELOAD), and writes the number to the
// file ALLOCATIONS at its end. valgrind, which counts the same, does not survive an asynchronous `main`.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static atomic_long calls;

void *malloc(size_t size) { return atomic_fetch_add(&calls, 1), __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return atomic_fetch_add(&calls, 1), __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return atomic_fetch_add(&calls, 1), __libc_realloc(old, size); }
void *memalign(size_t unit, size_t size) { return atomic_fetch_add(&calls, 1), __libc_memalign(unit, size); }
void *aligned_alloc(size_t unit, size_t size) { return memalign(unit, size); }
int posix_memalign(void **result, size_t unit, size_t size) { return (*result = memalign(unit, size)) ? 0 : ENOMEM; }

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("ALLOCATIONS");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) fprintf(file, "%ld\n", (long)calls), fclose(file);
}
