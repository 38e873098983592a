/// `session_tap_build_info`: which version of SessionTap this is, and where it knows transfers from.
package struct BuildInfo: Collector {
  package static let version = "0.1.0"

  private let sources: @Sendable () -> [String: String]

  /// - Parameter sources: Labels that say where it knows transfers and connections from: a system's name, or `none`.
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
