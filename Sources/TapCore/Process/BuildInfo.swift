/// `session_tap_build_info`: which version of SessionTap this is, and where it knows transfers from.
package struct BuildInfo: Collector {
  package static let version = "0.1.0"

  private let transferInfo: String?

  /// - Parameter transferInfo: The source of times and sizes: `libcurl`, or `none` where sizes come from headers and phases
  ///   are unknown. By default the label is left out.
  package init(transferInfo: String? = nil) {
    self.transferInfo = transferInfo
  }

  package func collect() -> [MetricFamily] {
    var labels = ["version": Self.version]
    labels["transfer_info"] = transferInfo
    return [
      MetricFamily(
        name: "session_tap_build_info", help: "The version of SessionTap.", kind: .info,
        samples: [.init(labels: Labels(labels), value: 1)])
    ]
  }
}
