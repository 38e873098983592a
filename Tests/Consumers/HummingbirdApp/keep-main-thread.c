// Keeps the main thread of a program that it is loaded into (LD_PRELOAD). An asynchronous `main` ends it (dispatch_main(3)), which
// valgrind does not survive. The main queue then serves nothing, so the program is ended by SIGUSR1.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void) { signal(SIGUSR1, exit); }

_Noreturn void pthread_exit(void *value) {
  for (;;) pause();
}
