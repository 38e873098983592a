import Synchronization
import TapCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file of secrets, read again when it changes.
final class CredentialFile: Sendable {
  /// More than any list of secrets needs.
  private static let maximumSize = 65_536

  /// What tells one content of a file from the next: a file that is replaced is another inode.
  private struct Version: Hashable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let seconds: Int
    let nanoseconds: Int
  }

  private struct State {
    var version: Version?
    var credentials: Credentials?
  }

  let path: String
  let scheme: Credentials.Scheme
  private let state = Mutex(State())

  init(path: String, scheme: Credentials.Scheme) {
    self.path = path
    self.scheme = scheme
  }

  /// The secrets as they are in the file now; `nil` if it cannot be read or has none.
  func current() -> Credentials? {
    let version = Self.version(path)
    let known: State? = state.withLock { version != nil && $0.version == version ? $0 : nil }
    if let known { return known.credentials }
    let credentials = SmallFile.read(path, limit: Self.maximumSize).map { Credentials($0, scheme: scheme) }
      .flatMap {
        $0.isEmpty ? nil : $0
      }
    state.withLock { state in
      // What was read belongs to the version before it, or to a later one, which is read again.
      state.version = version
      state.credentials = credentials
    }
    return credentials
  }

  private static func version(_ path: String) -> Version? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return Version(
      device: numericCast(status.st_dev), inode: numericCast(status.st_ino),
      size: numericCast(status.st_size),
      seconds: time.tv_sec, nanoseconds: time.tv_nsec)
  }
}
