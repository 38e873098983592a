import Foundation
import Hummingbird
import Instrumentation
import Logging
import Metrics
import ServiceLifecycle
import SessionTap
import TapAsyncHTTPClient
import TapHummingbird
import TapLogging
import TapMetrics
import TapServiceLifecycle
import TapTracing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A Hummingbird app that a tap observes: its requests, those that it makes, and what its libraries measure and log.
///
///     hummingbird-app UPSTREAM [--middleware | --without-tap]
///
/// Serves at a free port of 127.0.0.1, which it prints as a line of JSON, until SIGTERM. Its inbound requests are
/// recorded by its server (`http1(observedBy:)`), or by a middleware, which is slower.
@main
struct App {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard let upstream = arguments.first.flatMap(URL.init(string:)) else {
      return print("usage: hummingbird-app UPSTREAM [--middleware | --without-tap]")
    }
    let tap = arguments.contains("--without-tap") ? nil : try observe()
    let session = URLSession(configuration: tap?.sessionConfiguration(client: "users") ?? .default)
    let clients = BothClients(
      session: session, client: TapHTTPClient(name: "traces", outbound: tap?.outbound))

    let usesMiddleware = arguments.contains("--middleware")
    let router = Router()
    if usesMiddleware, let tap { router.add(middleware: TapMiddleware(inbound: tap.inbound)) }
    router.get("hello") { _, _ in "Hello" }
    router.group("measured").add(middleware: MetricsMiddleware()).get { _, _ in "Hello" }
    router.get("failing/{status}") { _, context -> Response in
      // An error that tells how it is answered, or one that does not.
      guard let status = context.parameters.get("status", as: Int.self) else { throw Unforeseen() }
      throw HTTPError(.init(code: status))
    }
    let lookups = Counter(label: "users.looked.up")
    router.get("users/{id}") { request, context in
      let id = try context.parameters.require("id", as: Int.self)
      context.logger.info("looks up a user", metadata: ["user": ["id": .stringConvertible(id)]])
      var request = URLRequest(url: upstream.appendingPathComponent("users/\(id)"))
      request.setTrace()
      let (body, _) = try await session.data(for: request)
      lookups.increment()
      return ByteBuffer(bytes: body)
    }

    router.get("clients") { _, context in
      context.logger.info("asks both clients")
      // Which trace they carry: the check beside this compares it with their lines.
      return try await clients.get(upstream.appendingPathComponent("trace"), urlTemplate: "/trace")
    }

    let app = Application(
      responder: TapResponder(base: router.buildResponder()),
      server: usesMiddleware ? .http1() : tap.map { .http1(observedBy: $0.inbound) } ?? .http1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        let ports = [channel.localAddress?.port, tap?.address?.port].map { $0 ?? 0 }
        FileHandle.standardOutput.write(Data(#"{"app":\#(ports[0]),"metrics":\#(ports[1])}"#.utf8 + [10]))
      })
    let services: [any Service] = (tap.map { [TapService(tap: $0)] } ?? []) + [app]
    try await ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "app"))
    ).run()
  }

  /// An error that says nothing about an answer.
  private struct Unforeseen: Error {}

  /// One `/metrics` and one log file for all that the app and its libraries emit.
  private static func observe() throws -> Tap {
    var configuration = Tap.Configuration(environment: ProcessInfo.processInfo.environment)
    configuration.requests.pathTemplates = ["/users/{id}"]
    let tap = try Tap.start(configuration)
    MetricsSystem.bootstrap(TapMetricsFactory(registry: tap.registry))
    InstrumentationSystem.bootstrap(TapInstrument())
    LoggingSystem.bootstrap(
      { TapLogHandler(label: $0, log: tap.requestLog, metadataProvider: $1) }, metadataProvider: .trace)
    return tap
  }
}
