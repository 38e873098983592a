import TapLibc

/// A small number per thread that chooses the thread's cell, as in Striped64 and LongAdder: after contention in a cell, a
/// thread moves on to another one, and soon each thread has a cell of its own.
enum ThreadProbe {
  /// The number of the calling thread, 0 at first.
  static var current: Int {
    guard let key else { return 0 }
    return Int(bitPattern: pthread_getspecific(key))
  }

  /// Gives the calling thread another number, after contention.
  static func advance() {
    guard let key else { return }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: current &+ 1))
  }

  /// `nil` if the process has used up its keys: every thread then begins at the same cell, which is slow but still
  /// correct.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()
}
