#include <stdlib.h>

// Bounds how many test cases run at a time. Swift Testing starts all of them at once, which is thousands of tasks on as many
// threads as there are processors: an endpoint under test then has no thread for its handlers before their deadlines. The
// library reads this variable (swift-testing #1390); one that is set wins.
__attribute__((constructor)) static void bound_parallel_tests(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0);
}
