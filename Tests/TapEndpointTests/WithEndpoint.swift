import TestSupport

@testable import TapEndpoint

/// Runs an endpoint on a free port for as long as the test needs it.
func withEndpoint(
  routes: [EndpointRoute], limits change: (inout Endpoint.Configuration.Limits) -> Void = { _ in },
  access: Endpoint.Configuration.Access = .init(), registry: Registry? = nil,
  logRefusal: (@Sendable (String) -> Void)? = nil, _ body: (_ port: Int) async throws -> Void
) async throws {
  var configuration = Endpoint.Configuration(address: .loopback(port: 0))
  change(&configuration.limits)
  (configuration.access, configuration.logRefusal) = (access, logRefusal)
  let endpoint = Endpoint(configuration: configuration, routes: routes)
  try registry?.register(endpoint.overdue)
  let port = try endpoint.start().port
  try await body(port)
  await endpoint.shutdown(within: .zero)
}

/// Why an endpoint does not start.
func startError(
  at address: EndpointAddress = .loopback(port: 0), location: SourceLocation = #_sourceLocation,
  _ change: (inout Endpoint.Configuration) -> Void = { _ in }
) -> EndpointError? {
  #expect(throws: EndpointError.self, sourceLocation: location) {
    try Endpoint(configuration: with(.init(address: address), change), routes: []).start()
  }
}
