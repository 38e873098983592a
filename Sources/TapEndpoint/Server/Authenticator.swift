import TapCore

/// Checks the credentials of requests against the secrets of files (RFC 9110, section 11).
///
/// A reading is valid for a second. A later request waits for the next one, on a thread of its own: a file
/// system that hangs delays no other request.
struct Authenticator: Sendable {
  struct File: Sendable {
    let path: String
    let scheme: Credentials.Scheme
    fileprivate let read: @Sendable (String, _ limit: Int) throws -> [UInt8]

    /// `nil` if it has no secret.
    fileprivate func credentials() throws -> Credentials? {
      // Larger than any list of secrets.
      Credentials(try read(path, 65_536), scheme)
    }

    /// `nil` if it cannot be read, or has no secret.
    var current: Credentials? { try? credentials() }
  }

  /// How long a reading is valid.
  private static let lifetime = Duration.seconds(1)

  let files: [File]
  private let openPaths: Set<String>
  /// The credentials of each file; `nil` if it has none.
  private var credentials: [Credentials?]
  private var readTime = ContinuousClock.now

  /// Reads the files. `nil` if no request needs credentials.
  /// - Throws: if a file has none, so that a mistake shows at the start.
  init?(_ access: Endpoint.Configuration.Access) throws(EndpointError) {
    let paths = [(access.bearerTokenFile, Credentials.Scheme.bearer), (access.basicPasswordFile, .basic)]
    files = paths.compactMap { path, scheme in
      // The path is used again when the app may have changed its directory.
      path.map { File(path: System.absolute($0), scheme: scheme, read: access.readFile) }
    }
    openPaths = access.openPaths
    if files.isEmpty { return nil }
    credentials = []
    for file in files {
      let cause: String
      do {
        if let secrets = try file.credentials() {
          credentials.append(secrets)
          continue
        }
        cause = "no line has any"
      } catch {
        cause = "\(error)"
      }
      throw EndpointError(
        .noCredentials,
        "no credentials: \(file.path): \(cause) (write one a line, and let this process read the file)",
        file: file.path)
    }
  }

  /// Whether the files are to be read before this request can be judged.
  func isOutdated(for request: EndpointRequest, at instant: ContinuousClock.Instant) -> Bool {
    !openPaths.contains(request.path) && readTime.duration(to: instant) >= Self.lifetime
  }

  /// - Parameter start: when the reading began; `nil` if there was none.
  mutating func take(_ credentials: [Credentials?], readAt start: ContinuousClock.Instant?) {
    (self.credentials, readTime) = (credentials, start ?? readTime)
  }

  /// The answer to a request without valid credentials; `nil` if it has some or needs none.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard !openPaths.contains(request.path) else { return nil }
    let fields = request.headers.values(of: "Authorization")
    if fields.count == 1, let field = fields.first?.utf8 {
      // Section 11.6.2: a scheme whose case does not count, and a token.
      let scheme = field.prefix { $0 != .space }
      let token = field[scheme.endIndex...].drop { $0 == .space }
      for (file, credentials) in zip(files, credentials)
      where scheme.isEqualIgnoringASCIICase(to: file.scheme.rawValue) {
        guard let credentials else { return .refusal(503, "the credentials cannot be read") }
        if credentials.contain(Array(token)) { return nil }
      }
    }
    var response = EndpointResponse.refusal(401, "this path needs credentials")
    for file in files {
      response.headers.add("WWW-Authenticate", "\(file.scheme.rawValue) realm=\"session-tap\"")
    }
    return response
  }
}

/// The tokens that clients may present. Compares them in constant time.
package struct Credentials: Sendable {
  package enum Scheme: String, Sendable {
    /// RFC 6750.
    case bearer = "Bearer"
    /// RFC 7617: the token is the secret, `user:password`, in Base64.
    case basic = "Basic"
  }

  private let tokens: [[UInt8]]

  /// Takes a secret from each line, without the blanks around it; empty lines do not count. `nil` if there is
  /// none.
  package init?(_ text: [UInt8], _ scheme: Scheme) {
    // RFC 3629, section 6: a byte order mark is no part of the text.
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let secrets = text.dropFirst(text.starts(with: mark) ? mark.count : 0).split {
      $0 == .lineFeed || $0 == .carriageReturn
    }
    .map(\.trimmingBlanks).filter { !$0.isEmpty }
    tokens = secrets.map { scheme == .basic ? $0.base64 : Array($0) }
    if tokens.isEmpty { return nil }
  }

  /// Whether one of the tokens was presented. The time depends on the size of the tokens alone.
  package func contain(_ presented: [UInt8]) -> Bool {
    // No token is empty.
    guard let last = presented.indices.last else { return false }
    var matches = 0
    for token in tokens {
      var difference = presented.count ^ token.count
      for (index, byte) in token.enumerated() { difference |= Int(byte ^ presented[min(index, last)]) }
      matches += difference == 0 ? 1 : 0
    }
    return matches > 0
  }
}
