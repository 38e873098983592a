#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The C library, apart from threads (``BackgroundThread``, ``EventCount``) and zlib (``Gzip``).
enum System {
  /// The monotonic clock, read now (POSIX, `CLOCK_MONOTONIC`).
  static var monotonicNanoseconds: Int64 { nanoseconds(of: CLOCK_MONOTONIC) }
  /// The wall clock, read now: nanoseconds since 1970-01-01T00:00:00Z (POSIX, `CLOCK_REALTIME`).
  static var realTimeNanoseconds: Int64 { nanoseconds(of: CLOCK_REALTIME) }

  @inline(__always)
  private static func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// The number of cores that are online, at least 1.
  static var coreCount: Int { configuration(Int32(_SC_NPROCESSORS_ONLN)) }
  /// The unit of the times under `/proc`.
  static var ticksPerSecond: Int { configuration(Int32(_SC_CLK_TCK)) }
  /// In bytes.
  static var pageSize: Int { configuration(Int32(_SC_PAGESIZE)) }

  private static func configuration(_ name: Int32) -> Int { max(1, sysconf(name)) }

  /// The value of an environment variable.
  static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Runs a function at a normal exit of the process.
  static func atExit(_ function: @convention(c) () -> Void) { atexit(function) }

  /// `base` to the power of `exponent`.
  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

  /// 2 to the power of `exponent`.
  static func powerOfTwo(_ exponent: Double) -> Double { exp2(exponent) }

  /// The number of entries of a directory, `.` and `..` left out.
  static func entryCount(ofDirectory path: String) -> Int? {
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return max(0, count - 2)
  }

  /// Reads once from a descriptor. Gives 0 at the end of the file, and `nil` if the read fails.
  fileprivate static func readOnce(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count >= 0 { return count }
      if errno != EINTR { return nil }
    }
  }
}

/// Reads whole files without Foundation.
package enum SmallFile {
  /// The bytes, or `nil` if the file cannot be read or has more than `limit`. Does not block on a pipe or a device.
  package static func read(_ path: String, limit: Int) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      guard let count = chunk.withUnsafeMutableBytes({ System.readOnce(descriptor, into: $0) }),
        bytes.count + count <= limit
      else { return nil }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
    }
  }
}

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
