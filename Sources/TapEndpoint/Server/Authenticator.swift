import TapCore

/// Checks the credentials of requests against the secrets of files (RFC 9110, section 11).
struct Authenticator: Sendable {
  private let files: [(path: String, scheme: Credentials.Scheme)]
  private let openPaths: Set<String>

  /// `nil` if no request needs credentials.
  init?(_ access: Endpoint.Configuration.Access) {
    files = [(access.bearerTokenFile, .bearer), (access.basicPasswordFile, .basic)]
      .compactMap { path, scheme in path.map { ($0, scheme) } }
    openPaths = access.openPaths
    if files.isEmpty { return nil }
  }

  /// A file without credentials, so that a mistake shows at the start.
  var unusableFile: String? { files.first { Credentials(ofFile: $0.path, $0.scheme) == nil }?.path }

  /// The answer to a request without valid credentials; `nil` if it has some or needs none.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard !openPaths.contains(request.path) else { return nil }
    let fields = request.headers.values(of: "Authorization")
    if fields.count == 1, let field = fields.first?.utf8 {
      // Section 11.6.2: a scheme whose case does not count, and a token.
      let scheme = field.prefix { $0 != ByteClass.space }
      let token = field[scheme.endIndex...].drop { $0 == ByteClass.space }
      for file in files where scheme.isEqualIgnoringASCIICase(to: file.scheme.rawValue) {
        // Small, and read again each time, so that secrets can be exchanged.
        guard let credentials = Credentials(ofFile: file.path, file.scheme) else {
          return .refusal(503, "the credentials cannot be read")
        }
        if credentials.contain(Array(token)) { return nil }
      }
    }
    var response = EndpointResponse.refusal(401, "this path needs credentials")
    // A browser asks its user only for a password (RFC 7617), and says so in its Accept.
    if !files.contains(where: { $0.scheme == .basic }),
      request.headers.combined("Accept")?.contains("text/html") == true
    {
      let remedy =
        "Give the app a file of passwords too (basicPasswordFile, or SESSION_TAP_BASIC_PASSWORD_FILE): then the "
        + "browser asks for a user and a password"
      response = .refusal(401, "this path needs a bearer token, which browsers do not ask for. \(remedy)")
    }
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

  /// Takes a secret from each line, without the blanks around it; empty lines do not count. `nil` if there is none.
  package init?(_ text: [UInt8], _ scheme: Scheme) {
    let secrets = text.split { $0 == ByteClass.lineFeed || $0 == ByteClass.carriageReturn }
      .map(\.trimmingBlanks).filter { !$0.isEmpty }
    tokens = secrets.map { scheme == .basic ? $0.base64 : Array($0) }
    if tokens.isEmpty { return nil }
  }

  /// `nil` if the file cannot be read, is larger than any list of secrets, or has none.
  init?(ofFile path: String, _ scheme: Scheme) {
    guard let text = System.contents(ofPath: path, limit: 65_536) else { return nil }
    self.init(text, scheme)
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
