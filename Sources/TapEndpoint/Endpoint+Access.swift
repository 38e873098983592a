extension Endpoint.Configuration {
  /// Who may read.
  ///
  /// With a file or two, every request must carry credentials that stand in one of them, but for the
  /// ``openPaths``. The files are read again when they change, so that secrets can be rotated: write the new
  /// one beside the old one, switch the clients, remove the old one. A file that cannot be read lets nobody
  /// in.
  public struct Access: Sendable, Hashable {
    /// A file with a bearer token a line (RFC 6750).
    public var bearerTokenFile: String?
    /// A file with a `user:password` a line (RFC 7617), UTF-8.
    public var basicPasswordFile: String?
    /// The paths that need no credentials: those that orchestrators ask, which have none.
    public var openPaths: Set<String> = ["/healthz", "/readyz"]
    /// Whether to listen on an address that other machines reach though there is no file above. `false`: the
    /// start is refused, because metrics and logs tell a lot about an app.
    public var allowsAnyoneFromNetwork = false

    /// Makes the default: anybody, but on this machine only.
    public init() {}

    /// Whether requests need credentials.
    package var isRestricted: Bool { bearerTokenFile != nil || basicPasswordFile != nil }
  }
}
