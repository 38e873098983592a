import Dispatch
import TapCore

/// What the first start of a request fixes for its end.
///
/// Instants are those of Dispatch's clock: unlike `ContinuousClock.Instant`, whose layout the compiler does not
/// know, they are plain integers to copy.
struct RequestStart: Sendable {
  /// Who hears of the start and of the end, whoever observes the tap by then.
  let observers: [any RequestObserver]
  let timestamp = Timestamp.now
  let instant = DispatchTime.now()

  /// The nanoseconds from the start to an instant.
  func elapsed(to end: DispatchTime) -> Int64 {
    Int64(truncatingIfNeeded: end.uptimeNanoseconds &- instant.uptimeNanoseconds)
  }
}
