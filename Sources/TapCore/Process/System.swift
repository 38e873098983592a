import TapLibc

/// The C library, apart from threads (``BackgroundThread``, ``EventCount``, ``ThreadProbe``) and zlib (``Gzip``).
package enum System {
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
  static var pageSize: Int { configuration(Int32(_SC_PAGESIZE)) }

  private static func configuration(_ name: Int32) -> Int { max(1, sysconf(name)) }

  static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// An `errno`.
  package struct Failure: Error, Hashable {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    package static let again = Failure(code: EAGAIN)
    package static let badDescriptor = Failure(code: EBADF)
    package static let noReader = Failure(code: ENXIO)
    package static let missing = Failure(code: ENOENT)
    package static let denied = Failure(code: EACCES)
    package static let isDirectory = Failure(code: EISDIR)
    package static let readOnly = Failure(code: EROFS)
    package static let noSpace = Failure(code: ENOSPC)
    package static let tooManyFiles = Failure(code: EMFILE)
    package static let nameTooLong = Failure(code: ENAMETOOLONG)

    package var text: String {
      var buffer = [CChar](repeating: 0, count: 256)
      // Not `strerror`, which is not safe in threads.
      guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
      return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "error \(code)" }
    }
  }

  /// Calls until no signal interrupts the call (EINTR, POSIX 2.3).
  package static func uninterrupted(_ call: () -> Int) throws(Failure) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { throw Failure(code: errno) }
    }
  }

  static func atExit(_ function: @convention(c) () -> Void) { atexit(function) }

  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

  static func powerOfTwo(_ exponent: Double) -> Double { exp2(exponent) }
}
