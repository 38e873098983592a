import TestSupport

struct BackgroundThreadTests {
  /// All others go to the app's threads. A fault goes to the app's crash reporter.
  @Test func `a thread takes no signals but those of its own faults`() async {
    let taken = await BackgroundThread.run { () -> [Int32] in
      var blocked = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &blocked)
      return (1..<32).filter { sigismember(&blocked, $0) == 0 }
    }
    // SIGABRT is blocked where the thread that made this one blocks it, as those of Dispatch do. The last two
    // cannot be.
    #expect(
      Set(taken).union([SIGABRT]) == [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGKILL, SIGSTOP])
  }

  #if os(Linux)
    @Test func `a thread that has ended leaves nothing behind, since nobody waits for it`() async {
      let isDetached = await BackgroundThread.run { () -> Bool in
        typealias Read = @convention(c) (pthread_t, UnsafeMutablePointer<pthread_attr_t>) -> Int32
        guard let symbol = dlsym(nil, "pthread_getattr_np") else { return false }
        var (attributes, state) = (pthread_attr_t(), Int32(0))
        guard unsafeBitCast(symbol, to: Read.self)(pthread_self(), &attributes) == 0 else { return false }
        pthread_attr_getdetachstate(&attributes, &state)
        pthread_attr_destroy(&attributes)
        return state == 1  // PTHREAD_CREATE_DETACHED
      }
      #expect(isDetached)
    }
  #endif
}
