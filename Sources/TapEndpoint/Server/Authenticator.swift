import Synchronization
import TapCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Authenticates requests by their credentials.
struct Authenticator: Sendable {
  private let files: [CredentialFile]
  private let openPaths: Set<String>

  init(_ access: Endpoint.Configuration.Access) {
    files =
      [
        access.bearerTokenFile.map { CredentialFile(path: $0, scheme: .bearer) },
        access.basicPasswordFile.map { CredentialFile(path: $0, scheme: .basic) },
      ].compactMap { $0 }
    openPaths = access.openPaths
  }

  /// A file without credentials, so that a mistake shows at the start.
  var unusableFile: String? {
    files.first { $0.current() == nil }?.path
  }

  /// The answer to a request without valid credentials; `nil` if it has some or needs none.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard !files.isEmpty, !openPaths.contains(request.path) else { return nil }
    let fields = request.headers.values(of: "Authorization")
    // RFC 9110, section 11.6.2: one field, of a scheme whose case does not count, and a token.
    if fields.count == 1, let field = fields.first {
      let parts = field.utf8.split(separator: ByteClass.space, maxSplits: 1, omittingEmptySubsequences: true)
      if parts.count == 2 {
        let scheme = String(Substring(parts[0]))
        let token = Array(parts[1].drop { $0 == ByteClass.space })
        for file in files where file.scheme.rawValue.isEqualIgnoringASCIICase(to: scheme) {
          guard let credentials = file.current() else {
            return .refusal(.serviceUnavailable, "the credentials cannot be read")
          }
          if credentials.contain(token) { return nil }
        }
      }
    }
    var response = EndpointResponse.refusal(.unauthorized, "this path needs credentials")
    for file in files {
      response.headers.add("WWW-Authenticate", "\(file.scheme.rawValue) realm=\"session-tap\"")
    }
    return response
  }
}

/// A file of secrets, read again when it changes.
final class CredentialFile: Sendable {
  /// More than enough for a list of secrets.
  private static let maximumSize = 65_536

  /// Identifies the content of a file: a file that is replaced has another inode.
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

  /// The current secrets of the file; `nil` if it cannot be read or has none.
  func current() -> Credentials? {
    let version = Self.version(path)
    let known: State? = state.withLock { version != nil && $0.version == version ? $0 : nil }
    if let known { return known.credentials }
    let credentials = SmallFile.read(path, limit: Self.maximumSize).map { Credentials($0, scheme: scheme) }
      .flatMap {
        $0.isEmpty ? nil : $0
      }
    state.withLock { state in
      // The content belongs to this version, or to a later one, which is then read again.
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

/// The secrets of a file. Compares them with presented ones in constant time.
package struct Credentials: Sendable, Hashable {
  /// The schemes (RFC 9110, section 11.1).
  package enum Scheme: String, Sendable, Hashable {
    /// RFC 6750.
    case bearer = "Bearer"
    /// RFC 7617.
    case basic = "Basic"
  }

  private let secrets: [[UInt8]]

  /// Takes a secret from each line, without the blanks around it; empty lines do not count. Those of the Basic
  /// scheme are kept as they are presented, in Base64.
  package init(_ text: [UInt8], scheme: Scheme) {
    let lines = text.split { $0 == ByteClass.lineFeed || $0 == ByteClass.carriageReturn }
    secrets = lines.compactMap { line in
      var secret = line.drop { $0 == ByteClass.space || $0 == ByteClass.tab }
      while let last = secret.last, last == ByteClass.space || last == ByteClass.tab { secret.removeLast() }
      if secret.isEmpty { return nil }
      return scheme == .basic ? Base64.encoded(secret) : Array(secret)
    }
  }

  package var isEmpty: Bool { secrets.isEmpty }

  /// Whether one of the secrets was presented. The time depends on the length of what was presented and on the
  /// number of secrets, and not on how many bytes are equal.
  package func contain(_ presented: [UInt8]) -> Bool {
    var isFound: UInt8 = 0
    for secret in secrets { isFound |= Self.equals(presented, secret) }
    return isFound != 0
  }

  /// 1 for equal bytes, else 0, without a branch on any of them.
  private static func equals(_ presented: [UInt8], _ secret: [UInt8]) -> UInt8 {
    var difference = presented.count ^ secret.count
    for index in presented.indices {
      // No secret is empty, so there is always a byte to compare with.
      difference |= Int(presented[index] ^ secret[index % secret.count])
    }
    return difference == 0 ? 1 : 0
  }
}
