/// How often a push is tried, and how long is waited in between. A value out of its range is taken for the nearest
/// one in it.
public struct PushRetry: Sendable, Hashable {
  /// The tries in all, the first included: at least 1. 5.
  public var attempts = 5
  /// The wait behind the first try, from 0; it doubles with each further one. 0.5 s.
  public var firstDelay = Duration.milliseconds(500)
  /// What the wait does not exceed: 0 to a day. 30 s.
  public var maximumDelay = Duration.seconds(30)
  /// How long one try may take, up to a day; without any time, it fails. Where the gateway's name has several
  /// addresses, they share it: each is asked for its part of what is left. 10 s.
  public var deadline = Duration.seconds(10)

  /// Makes the default.
  public init() {}

  /// The wait behind the given try, which is counted from 1.
  ///
  /// - Parameter jitter: 0 to 1. It takes away up to half of the wait, so that many jobs whose gateway has
  ///   come back do not all come at once.
  package func delay(after attempt: Int, jitter: Double) -> Duration {
    let maximum = min(max(maximumDelay, .zero), .seconds(86_400))
    var delay = min(max(firstDelay, .zero), maximum)
    for _ in 1..<min(max(attempt, 1), 64) where delay < maximum { delay = min(delay * 2, maximum) }
    return delay * (1 - min(max(jitter, 0), 1) / 2)
  }
}
