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
    files.first { Self.credentials($0.path) == nil }?.path
  }

  /// The answer to a request without valid credentials; `nil` if it has some or needs none.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard !openPaths.contains(request.path) else { return nil }
    let fields = request.headers.values(of: "Authorization")
    if fields.count == 1, let presented = Credentials.Presented(fields[0]) {
      for file in files where file.scheme == presented.scheme {
        guard let credentials = Self.credentials(file.path) else {
          return .refusal(503, "the credentials cannot be read")
        }
        if credentials.contain(presented.secret) { return nil }
      }
    }
    var response = EndpointResponse.refusal(401, "this path needs credentials")
    // A browser asks its user only for a password (RFC 7617), and says so in its Accept.
    if !files.contains(where: { $0.scheme == .basic }),
      request.headers.combined("Accept")?.contains("text/html") == true
    {
      response = .refusal(
        401,
        "this path needs a bearer token, which browsers do not ask for. Give the app a file of passwords too "
          + "(basicPasswordFile, or SESSION_TAP_BASIC_PASSWORD_FILE): then the browser asks for a user and a password"
      )
    }
    for file in files {
      response.headers.add("WWW-Authenticate", "\(file.scheme.rawValue) realm=\"session-tap\"")
    }
    return response
  }

  /// The current secrets of a file; `nil` if it cannot be read or has none. It is small, and read again each time, so
  /// that secrets can be exchanged.
  private static func credentials(_ path: String) -> Credentials? {
    System.contents(ofPath: path, limit: maximumFileSize).flatMap(Credentials.init)
  }
}
