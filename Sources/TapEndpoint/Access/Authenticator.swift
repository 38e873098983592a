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
