#define _GNU_SOURCE
#include "TestStart.h"
#include <stdatomic.h>

static atomic_int refusal;

void refuse_synchronization_of_folders(int error) { atomic_store(&refusal, error); }

#if defined(__linux__)
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>

// Stands before libc's for the whole test program.
int fsync(int descriptor) {
  static int (*_Atomic next)(int);
  if (!next) next = dlsym(RTLD_NEXT, "fsync");
  struct stat status;
  int error = atomic_load(&refusal);
  if (error == 0 || fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode)) return next(descriptor);
  errno = error;
  return -1;
}
#endif
