import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Counts SIGHUP, for logs that asked to open their file anew on it.
///
/// A handler that the app had installed before is called as ever. A handler may do next to nothing
/// (signal-safety(7)); this one adds to a number, which the writer looks at before each batch.
enum HangupSignal {
  private static let counter = Atomic<Int>(0)
  private static let installed = Mutex(false)
  /// The handler of before, as an address, or 0.
  private static let previous = Atomic<Int>(0)

  /// How often the signal has come.
  static var count: Int { counter.load(ordering: .relaxed) }

  /// Starts to count. Again does nothing.
  static func install() {
    installed.withLock { isInstalled in
      guard !isInstalled else { return }
      isInstalled = true
      // The handler must find these in place, and not make them.
      _ = counter.load(ordering: .relaxed)
      _ = previous.load(ordering: .relaxed)
      let before = signal(SIGHUP) { number in
        HangupSignal.counter.wrappingAdd(1, ordering: .relaxed)
        let address = HangupSignal.previous.load(ordering: .relaxed)
        guard address != 0 else { return }
        unsafeBitCast(address, to: (@convention(c) (Int32) -> Void).self)(number)
      }
      let address = unsafeBitCast(before, to: Int.self)
      // SIG_DFL, SIG_IGN and SIG_ERR are 0, 1 and -1: nothing to call.
      if address != 0, address != 1, address != -1 { previous.store(address, ordering: .relaxed) }
    }
  }
}
