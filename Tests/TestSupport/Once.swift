import Synchronization

/// Tells the first caller from all others.
package final class Once: Sendable {
  private let isClaimed = Atomic<Bool>(false)

  /// Makes something that nobody has claimed.
  package init() {}

  /// `true` for the first call, `false` for every later one.
  package func claim() -> Bool { !isClaimed.exchange(true, ordering: .relaxed) }
}
