public import ServiceLifecycle
public import SessionTap

/// A tap as a service of swift-service-lifecycle. It shuts down with the other services, and writes out its
/// log before the app ends.
///
///     let group = ServiceGroup(
///       configuration: ServiceGroupConfiguration(
///         services: [TapService(tap), app], gracefulShutdownSignals: [.sigterm, .sigint],
///         logger: logger))
///     try await group.run()
///
/// Put it first. Services shut down in reverse order, so the tap is the last and sees the requests of the
/// others end.
public struct TapService: Service {
  private let tap: Tap

  /// Makes a service of a started tap.
  public init(_ tap: Tap) {
    self.tap = tap
  }

  /// Runs until the group shuts down, then shuts the tap down.
  public func run() async throws {
    try await cancelWhenGracefulShutdown { try await tap.run() }
  }
}
