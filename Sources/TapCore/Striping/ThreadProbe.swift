#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A small number per thread that chooses the thread's cell, as in Striped64 and LongAdder: threads that meet
/// in a cell move on, and soon each has its own.
enum ThreadProbe {
  /// The number of the calling thread, 0 at first.
  static var current: Int {
    guard let key else { return 0 }
    return Int(bitPattern: pthread_getspecific(key))
  }

  /// Gives the calling thread another number, after it has met another thread.
  static func advance() {
    guard let key else { return }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: current &+ 1))
  }

  /// `nil` where the process has used up its keys: every thread then begins at the same cell, which is slow
  /// and still right.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()
}
