/// `session_tap_build_info`: which version of SessionTap this is.
public struct BuildInfo: Collector {
  /// The version of SessionTap.
  public static let version = "0.1.0"

  /// Makes the collector.
  public init() {}

  /// The one family.
  public func collect() -> [MetricFamily] {
    [
      MetricFamily(
        name: "session_tap_build_info", help: "The version of SessionTap.", kind: .info,
        samples: [.init(labels: ["version": Self.version], value: 1)])
    ]
  }
}
