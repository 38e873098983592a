#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The file of a Unix socket that this process has bound.
struct SocketFile: Sendable {
  private let path: String
  private let inode: UInt64

  init?(_ path: String) {
    guard let status = Self.socketStatus(path) else { return nil }
    self.path = path
    inode = numericCast(status.st_ino)
  }

  /// Removes the file, unless another process has put its own in its place.
  func remove() {
    guard let status = Self.socketStatus(path), UInt64(status.st_ino) == inode else { return }
    unlink(path)
  }

  /// Removes a socket that nobody listens on any more: a process that crashed has left it. Any other file is
  /// left alone, and lets the binding fail.
  static func removeLeftover(_ path: String) {
    guard socketStatus(path) != nil else { return }
    #if canImport(Glibc)
      let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let probe = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    guard probe >= 0 else { return }
    defer { closeDescriptor(probe) }
    ListeningSocket.configure(probe)
    let result = SocketAddress.withUnix(path: path) { connect(probe, $0, $1) }
    if result == -1, errno == ECONNREFUSED { unlink(path) }
  }

  private static func socketStatus(_ path: String) -> stat? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    return status
  }
}
