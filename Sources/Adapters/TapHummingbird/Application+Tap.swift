public import Hummingbird
public import Logging
public import NIOCore
public import ServiceLifecycle
public import SessionTap

extension Application {
  /// Makes an app whose requests are recorded, each from its head until its response has been written.
  ///
  ///     let app = Application(router: router, observedBy: tap)
  ///     try await app.runService()
  ///
  /// This is ``TapResponder`` and `http1(observedBy:)` together. For another kind of server or another
  /// responder, use these two directly, or ``TapMiddleware``.
  ///
  /// - Parameters:
  ///   - router: The app's routes.
  ///   - tap: Where the requests are recorded.
  ///   - configuration: Hummingbird's configuration: the address, the server's name.
  ///   - services: The services that run beside the server. They start in this order and shut down in
  ///     reverse. Put a `TapService` first.
  ///   - onServerRunning: Called when the server listens.
  ///   - logger: The app's logger. By default Hummingbird makes one.
  public init<Builder: HTTPResponderBuilder>(
    router: Builder, observedBy tap: Tap,
    configuration: ApplicationConfiguration = ApplicationConfiguration(), services: [any Service] = [],
    onServerRunning: @escaping @Sendable (any Channel) async -> Void = { _ in }, logger: Logger? = nil
  ) where Responder == TapResponder<Builder.Responder> {
    self.init(
      responder: TapResponder(base: router.buildResponder()), server: .http1(observedBy: tap),
      configuration: configuration, services: services, onServerRunning: onServerRunning, logger: logger)
  }
}
