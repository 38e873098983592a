#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Reads what the Linux kernel tells under `/proc`. On other systems nothing is there to read.
enum ProcFile {
  /// The file's text, or `nil` if it cannot be read or is longer than a mebibyte.
  static func read(_ path: String) -> String? {
    SmallFile.read(path, limit: 1 << 20).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The number of entries of a directory, `.` and `..` left out.
  static func entryCount(_ path: String) -> Int? {
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return max(0, count - 2)
  }
}
