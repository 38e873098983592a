/// `session_tap_build_info`: which version of SessionTap this is, and where it knows transfers from.
package struct BuildInfo: Collector {
  package static let version = "0.1.0"

  private let transferAccount: String?

  /// - Parameter transferAccount: Whose account of each transfer is read: `libcurl`, or `none` where times and sizes come
  ///   from headers. By default the label is left out.
  package init(transferAccount: String? = nil) {
    self.transferAccount = transferAccount
  }

  package func collect() -> [MetricFamily] {
    var labels = ["version": Self.version]
    labels["transfer_account"] = transferAccount
    return [
      MetricFamily(
        name: "session_tap_build_info", help: "The version of SessionTap.", kind: .info,
        samples: [.init(labels: Labels(labels), value: 1)])
    ]
  }
}
