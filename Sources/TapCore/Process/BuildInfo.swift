/// `session_tap_build_info`: the version of SessionTap, and what it reads transfers and connections from.
package struct BuildInfo: Collector {
  package static let version = "0.1.0"

  private let sources: @Sendable () -> [String: String]

  /// - Parameter sources: A label for each kind of data, whose value names its source, or is `none`.
  package init(sources: @escaping @Sendable () -> [String: String] = { [:] }) { self.sources = sources }

  package func collect() -> [MetricFamily] {
    let labels = sources().merging(["version": Self.version]) { $1 }
    return [
      MetricFamily(
        name: "session_tap_build_info", help: "The version of SessionTap.", kind: .info,
        samples: [.init(labels: Labels(labels), value: 1)])
    ]
  }
}
