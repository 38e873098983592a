public import TapCore

/// The app's own metrics, of the ``registry``, which also has families of them by labels.
extension Tap {
  /// A counter, made on first use: ``/TapCore/Registry/counter(_:help:unit:labels:)``.
  ///
  ///     let jobs = try tap.counter("jobs_total", help: "Jobs done.")
  public func counter(
    _ name: String, help: String, labels: Labels = .none
  ) throws(RegistryError) -> Registry.Counter { try registry.counter(name, help: help, labels: labels) }

  /// A gauge, made on first use.
  public func gauge(
    _ name: String, help: String, labels: Labels = .none
  ) throws(RegistryError) -> Registry.Gauge { try registry.gauge(name, help: help, labels: labels) }

  /// A histogram, made on first use.
  public func histogram(
    _ name: String, help: String, buckets: HistogramBuckets = .seconds, labels: Labels = .none
  ) throws(RegistryError) -> Registry.Histogram {
    try registry.histogram(name, help: help, buckets: buckets, labels: labels)
  }
}
