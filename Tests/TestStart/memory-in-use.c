#include "TestStart.h"
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

size_t memory_in_use(void) {
#ifdef __GLIBC__
  // mallinfo(3): what lies in the arenas, and what has a mapping of its own.
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}
