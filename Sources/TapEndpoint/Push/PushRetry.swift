/// How often a push is tried, and how long is waited in between.
public struct PushRetry: Sendable, Hashable {
  /// The tries in all, the first included. 5.
  public var attempts = 5
  /// The wait behind the first try; it doubles with each further one. 0.5 s.
  public var firstDelay = Duration.milliseconds(500)
  /// What the wait does not exceed. 30 s.
  public var maximumDelay = Duration.seconds(30)
  /// How long one try may take. 10 s.
  public var deadline = Duration.seconds(10)

  /// Makes the default.
  public init() {}

  /// The wait behind the given try, which is counted from 1.
  ///
  /// - Parameter jitter: 0 to 1. It takes away up to half of the wait, so that many jobs whose gateway has
  ///   come back do not all come at once.
  package func delay(after attempt: Int, jitter: Double) -> Duration {
    let maximum = min(maximumDelay, .seconds(86_400))
    var delay = min(firstDelay, maximum)
    for _ in 1..<min(max(attempt, 1), 64) where delay < maximum { delay = min(delay * 2, maximum) }
    return max(delay, .zero) * (1 - min(max(jitter, 0), 1) / 2)
  }
}
