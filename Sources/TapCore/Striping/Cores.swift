#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The cores that this process may run on.
enum Cores {
  /// How far a series may grow: the power of two at or above the number of cores, at most 64.
  static let stripes: Int = {
    let count = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 64)
    return count == 1 ? 1 : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
  }()
}
