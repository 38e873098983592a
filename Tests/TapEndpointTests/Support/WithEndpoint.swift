import TapEndpoint
import TestSupport

/// Runs an endpoint on a free port for as long as the test needs it.
func withEndpoint(
  routes: [EndpointRoute], limits: Endpoint.Configuration.Limits = .init(),
  access: Endpoint.Configuration.Access = .init(), registry: Registry? = nil,
  logRefusal: (@Sendable (String) -> Void)? = nil, _ body: (_ port: Int) async throws -> Void
) async throws {
  var configuration = Endpoint.Configuration(address: .loopback(port: 0))
  configuration.limits = limits
  configuration.access = access
  configuration.logRefusal = logRefusal
  let endpoint = Endpoint(configuration: configuration, routes: routes)
  try registry?.register(endpoint.overdueHandlers)
  let port = try #require(try endpoint.start().port)
  try await body(port)
  await endpoint.shutdown(within: .zero)
}
