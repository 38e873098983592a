import TapCore

struct Authenticator: Sendable {
  /// More than enough for a list of secrets.
  private static let maximumFileSize = 65_536

  private let files: [(path: String, scheme: Credentials.Scheme)]
  private let openPaths: Set<String>

  /// `nil` if no request needs credentials.
  init?(_ access: Endpoint.Configuration.Access) {
    files =
      (access.bearerTokenFile.map { [($0, .bearer)] } ?? [])
      + (access.basicPasswordFile.map { [($0, .basic)] } ?? [])
    openPaths = access.openPaths
    if files.isEmpty { return nil }
  }

  /// A file without credentials, so that a mistake shows at the start.
  var unusableFile: String? {
    files.first { Self.credentials($0.path, $0.scheme) == nil }?.path
  }

  /// The answer to a request without valid credentials; `nil` if it has some or needs none.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard !openPaths.contains(request.path) else { return nil }
    let fields = request.headers.values(of: "Authorization")
    // RFC 9110, section 11.6.2: one field, of a scheme whose case does not count, and a token.
    let parts = (fields.first ?? "").utf8.split(separator: ByteClass.space, maxSplits: 1)
    if fields.count == 1, parts.count == 2 {
      let scheme = String(Substring(parts[0]))
      for file in files where file.scheme.rawValue.isEqualIgnoringASCIICase(to: scheme) {
        guard let credentials = Self.credentials(file.path, file.scheme) else {
          return .refusal(.serviceUnavailable, "the credentials cannot be read")
        }
        if credentials.contain(Array(parts[1].drop { $0 == ByteClass.space })) { return nil }
      }
    }
    var response = EndpointResponse.refusal(.unauthorized, "this path needs credentials")
    for file in files {
      response.headers.add("WWW-Authenticate", "\(file.scheme.rawValue) realm=\"session-tap\"")
    }
    return response
  }

  /// The current secrets of a file; `nil` if it cannot be read or has none. It is small, and read again each time, so
  /// that secrets can be exchanged.
  private static func credentials(_ path: String, _ scheme: Credentials.Scheme) -> Credentials? {
    System.contents(ofPath: path, limit: maximumFileSize).flatMap { Credentials($0, scheme: scheme) }
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
  /// scheme are kept as they are presented, in Base64. `nil` if there is none.
  package init?(_ text: [UInt8], scheme: Scheme) {
    let lines = text.split { $0 == ByteClass.lineFeed || $0 == ByteClass.carriageReturn }
    secrets = lines.compactMap { line in
      let secret = line.trimmingBlanks
      if secret.isEmpty { return nil }
      return scheme == .basic ? Self.base64(secret) : Array(secret)
    }
    if secrets.isEmpty { return nil }
  }

  /// RFC 4648, section 4.
  private static func base64(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    return stride(from: bytes.startIndex, to: bytes.endIndex, by: 3).flatMap { start in
      let group = bytes[start...].prefix(3)
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      return (0..<4).map { $0 <= group.count ? alphabet[bits >> (18 - 6 * $0) & 63] : UInt8(ascii: "=") }
    }
  }

  /// Whether one of the secrets was presented. The time depends on the length of what was presented and on the
  /// number of secrets, and not on how many bytes are equal.
  package func contain(_ presented: [UInt8]) -> Bool {
    var matches = 0
    for secret in secrets {
      var difference = presented.count ^ secret.count
      for index in presented.indices {
        // No secret is empty, so there is always a byte to compare with.
        difference |= Int(presented[index] ^ secret[index % secret.count])
      }
      matches += difference == 0 ? 1 : 0
    }
    return matches > 0
  }
}
