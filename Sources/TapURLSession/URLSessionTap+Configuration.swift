public import TapCore

extension URLSessionTap {
  /// What a tap records, with its defaults.
  public struct Configuration: Sendable {
    /// The templates of paths, for the `url_template` label. None by default: the label is then left out,
    /// unless a request says its own (``TapRequestContext/urlTemplate``).
    public var pathTemplates: PathTemplates = []
    /// Which requests are recorded. All by default.
    public var filter = RequestFilter.all
    /// After how long a request is reported whose challenge nobody has answered, and which Foundation may
    /// never end. `nil` reports none. 60 s.
    public var waitingLimit: Duration? = .seconds(60)
    /// Whether observers are told the headers of requests and responses, for those that show some. Not by default.
    /// Headers of a session's `httpAdditionalHeaders` are not among them: on Linux Foundation adds those later.
    public var collectsHeaders = false

    /// Whether libcurl's account of each transfer is read, where there is one. A test reads none.
    package var readsAccount = true

    /// Makes the default configuration.
    public init() {}
  }
}
