#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void give_up(int number) {
  static const char text[] = "the process of an exit test did not end before its alarm\n";
  (void)!write(STDERR_FILENO, text, strlen(text));
  _exit(EXIT_FAILURE);
}

// The process of an exit test that does not end fails its test. Swift Testing sets this variable for it.
__attribute__((constructor)) static void bound_exit_tests(void) {
  if (!getenv("SWT_EXIT_TEST_ID") && !getenv("SWT_EXPERIMENTAL_EXIT_TEST_ID")) return;
  signal(SIGALRM, give_up);
  alarm(300);
}
