/// Gives metrics whose values live elsewhere: a pool's size, the process's memory.
///
/// A registry asks each collector at every scrape, and once when it is registered, to learn the names. A collector
/// gives the same families every time; a family that it did not give at first, or a sample whose label
/// names cannot be used, is left out.
public protocol Collector: Sendable {
  /// The families as they are now. Called on the thread that serves a scrape, without any lock held: it must not
  /// wait.
  func collect() -> [MetricFamily]
}
