import ServiceLifecycle
import SessionTap

/// A tap in a service group. First in its list: then it is the last to be shut down, and sees the others end.
///
///     let group = ServiceGroup(
///       configuration: ServiceGroupConfiguration(
///         services: [TapService(tap: tap), app], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
///     try await group.run()
struct TapService: Service {
  let tap: Tap

  func run() async throws {
    try await cancelWhenGracefulShutdown { try await tap.run() }
  }
}
