import Synchronization

/// What no lock can be cheaper than: the reference of what takes a lock for each record.
enum UncontendedMutex {
  /// The time of one lock and unlock around an addition.
  static var nanoseconds: Double {
    let mutex = Mutex(0.0)
    let samples = Samples.durations
    return Stopwatch.nanoseconds(per: operations) {
      for index in 0..<operations { mutex.withLock { $0 += samples[index & 65_535] } }
    }
  }

  private static let operations = 1_000_000
}
