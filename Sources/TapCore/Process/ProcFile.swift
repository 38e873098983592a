#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Reads what the Linux kernel tells under `/proc`. On other systems nothing is there to read.
enum ProcFile {
  /// The file's text, cut at a mebibyte, or `nil` if it cannot be read.
  static func read(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while bytes.count < 1 << 20 {
      let count = chunk.withUnsafeMutableBytes { systemRead(descriptor, $0) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
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

/// The system call, by a name that the method above does not hide.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
  read(descriptor, buffer.baseAddress, buffer.count)
}
