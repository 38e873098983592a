import SessionTap
import TestSupport

/// The table: pushes to a gateway.
extension ExtremeTrial {
  static var pushes: [Self] {
    func gateway(
      _ others: NamedValues<String> = [],
      _ make: @escaping @Sendable (_ url: String, String) throws -> PushGateway
    ) -> [Self] {
      use("PushGateway.init(_:job:grouping:)", and: others) { run, text in
        let url = "http://127.0.0.1:\(run.origin.port)"
        try await run.tap.push(to: make(url, text), within: .milliseconds(100))
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
        let gateway = try PushGateway("http://127.0.0.1:\(run.origin.port)", job: "backup")
        do {
          try await run.tap.push(to: gateway, within: limit)
          try run.expect(limit > .zero, "it takes no time")
        } catch let error as TapError {
          try run.expect(error.code == .push && limit < .seconds(1), "\(error)")
        }
      }
  }
}
