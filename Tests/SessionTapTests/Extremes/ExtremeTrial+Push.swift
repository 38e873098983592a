import SessionTap
import TestSupport

/// The table: pushes to a gateway. One that is busy lets the pusher wait between its tries.
extension ExtremeTrial {
  static var pushes: [Self] {
    func gateway(
      _ others: NamedValues<String> = [],
      _ make: @escaping @Sendable (_ url: String, String) throws -> PushGateway
    ) -> [Self] {
      use("PushGateway.init(_:job:grouping:)", and: others) { run, text in
        let url = "http://127.0.0.1:\(run.origin.port)"
        try await MetricsPusher(registry: run.registry, to: make(url, text)).push(within: .milliseconds(100))
      }
    }
    let ports = ["0", "65536", "\(Int.max)", String(repeating: "9", count: 100)].map { ("port \($0)", $0) }
    return gateway { try PushGateway($1, job: "backup") }
      + gateway { try PushGateway("http://\($1):1", job: "backup") }
      + gateway(ports) { try PushGateway("http://127.0.0.1:\($1)", job: "backup") }
      + gateway { try PushGateway("\($0)/\($1)", job: "backup") } + gateway { try PushGateway($0, job: $1) }
      + gateway { try PushGateway($0, job: "backup", grouping: [$1: "a"]) }
      + gateway { try PushGateway($0, job: "backup", grouping: ["a": $1]) }
      + use("Tap.push(to:within:)") { run, limit in
        try await push(run, within: limit) { registry, gateway in
          let configuration = with(Tap.Configuration(environment: [:])) { $0.endpoint = nil }
          let tap = try Tap(configuration, registry: registry)
          try await tap.push(to: gateway, within: limit)
        }
      }
  }

  /// A push has the time that it was given, and fails without any.
  private static func push(
    _ run: RunningExtreme, within limit: Duration, _ push: (Registry, PushGateway) async throws -> Void
  ) async throws {
    let gateway = try PushGateway("http://127.0.0.1:\(run.origin.port)", job: "backup")
    do {
      try await push(Registry(), gateway)
      try run.expect(limit > .zero, "it takes no time")
    } catch let error as TapError { try run.expect(error.code == .push && limit < .seconds(1), "\(error)") }
  }
}
