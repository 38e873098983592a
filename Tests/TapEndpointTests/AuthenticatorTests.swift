import TestStart
import TestSupport

@testable import TapEndpoint

@Suite struct AuthenticatorTests {
  private static func access(_ text: String) -> Endpoint.Configuration.Access {
    with(Endpoint.Configuration.Access()) {
      $0.bearerTokenFile = "tokens"
      $0.readFile = { _, limit in limit == 65_536 ? Array(text.utf8) : [] }
    }
  }

  @Test func `what was read is valid for a second, and read again only for who needs it`() throws {
    let before = ContinuousClock.now
    let made = try Authenticator(Self.access("token"))
    let after = ContinuousClock.now
    var authenticator = try #require(made)
    let request = EndpointRequest(path: "/", headers: ["Authorization": "Bearer token"])
    let probe = EndpointRequest(path: "/healthz")
    let almost = Duration.seconds(1) - .nanoseconds(1)
    #expect(!authenticator.isOutdated(for: request, at: before + almost))
    #expect(authenticator.isOutdated(for: request, at: after + .seconds(1)))
    #expect(!authenticator.isOutdated(for: probe, at: after + .seconds(1)))
    #expect(authenticator.refusal(request) == nil)
    let reading = after + .seconds(60)
    authenticator.take(authenticator.files.map(\.current), readAt: reading)
    #expect(!authenticator.isOutdated(for: request, at: reading + almost))
    #expect(authenticator.isOutdated(for: request, at: reading + .seconds(1)))
    // There was no thread to read them.
    authenticator.take([nil], readAt: nil)
    #expect(authenticator.isOutdated(for: request, at: reading + .seconds(1)))
    #expect(authenticator.refusal(request)?.status == 503)
  }

  @Test(.needs(.program)) func `credentials that no thread can read are read for the next request`() async {
    await #expect(processExitsWith: .success) {
      let route = EndpointRoute.immediate("/") { _ in .text("fine\n") }
      try await withEndpoint(routes: [route], access: Self.access("token")) { port in
        let right = "Authorization: Bearer token\r\n"
        refuse_threads(-1)
        // What was read at the start is valid for a second.
        let refusal = try await Poll.until("a refusal") {
          let answer = try await RawClient.get("/", port: port, fields: right)
          return answer.hasSuffix("fine\n") ? nil : answer
        }
        #expect(refusal.hasSuffix("503 Service Unavailable: the credentials cannot be read\n"))
        refuse_threads(0)
        #expect(try await RawClient.get("/", port: port, fields: right).hasSuffix("fine\n"))
      }
    }
  }
}
