#if canImport(Glibc)
  import Glibc

  /// Bounds how many test cases run at a time, before `main`. Swift Testing starts all of them at once, which is thousands of
  /// tasks on as many threads as there are processors: an endpoint under test then has no thread for its handlers before
  /// their deadlines. The library reads this variable (swift-testing #1390); one that is set wins.
  @used @section(".init_array")
  private let boundParallelTests: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0)
  }
#endif
