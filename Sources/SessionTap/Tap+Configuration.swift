public import TapCore
public import TapEndpoint
public import TapLog
public import TapURLSession

extension Tap {
  /// What a tap does, with its defaults: metrics at 127.0.0.1:9464, no log.
  public struct Configuration: Sendable {
    /// Where the metrics are registered. Several taps on one registry would collide: a registry holds the
    /// request metrics once.
    public var registry = Registry()
    /// The request metrics: buckets, methods, limit of series.
    public var metrics = RequestMetrics.Configuration()
    /// Which requests are recorded, and the templates of their paths.
    public var requests = URLSessionTap.Configuration()
    /// Where each request's line goes. `nil` writes none.
    public var log: RequestLog.Destination?
    /// How lines are made and written: redaction, limits, what happens when the disk cannot keep up.
    public var logging = RequestLog.Configuration()
    /// Where the metrics are served. `nil` serves none.
    public var endpoint: Endpoint.Configuration? = Endpoint.Configuration()
    /// What `/readyz` asks before it answers that the app is ready. Add the app's own checks.
    public var readiness = Readiness()
    /// Small handlers of the app's own, beside `/metrics`, `/healthz`, `/readyz` and the page at `/`, whose paths
    /// they cannot take.
    public var routes: [HTTPRoute] = []
    /// Who else hears of each request: the app's own observers.
    public var observers: [any RequestObserver] = []
    /// How long ``Tap/shutdown()`` may take for the log, and once more for the endpoint. 5 s.
    public var shutdownDeadline = Duration.seconds(5)
    /// What ``init(environment:)`` could not use, a line each.
    public internal(set) var warnings: [String] = []

    /// Makes the default configuration.
    public init() {}
  }
}
