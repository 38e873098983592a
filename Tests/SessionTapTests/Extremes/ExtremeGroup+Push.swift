import Foundation
import SessionTap
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Pushes to a gateway. One that is busy lets the pusher wait between its tries.
extension ExtremeGroup {
  static var pushExtremes: [Extreme] {
    func gateway(_ parameter: String, _ make: @escaping @Sendable (Origin, String) throws -> PushGateway)
      -> [Extreme]
    {
      Extreme.eachWhileRunning(
        "PushGateway.init(_:job:grouping:)", Extremes.strings.map { ("\(parameter): \($0.name)", $0.value) }
      ) { running, text in
        try await running.tap.push(to: make(running.origin, text), retry: once)
      }
    }
    func retry<Value: Sendable>(
      _ property: String, _ values: Extremes.Values<Value>,
      _ change: @escaping @Sendable (inout PushRetry, Value) -> Void
    ) -> [Extreme] {
      [false, true].flatMap { isBusy in
        Extreme.eachWhileRunning(
          "PushRetry.\(property)", values.map { (isBusy ? "\($0.name), busy" : $0.name, $0.value) }
        ) { running, value in
          var retry = PushRetry()
          retry.attempts = 3
          retry.firstDelay = .milliseconds(1)
          change(&retry, value)
          try await push(running, retry, isBusy: isBusy)
        }
      }
    }
    return gateway("url") { _, text in try PushGateway(text, job: "backup") }
      + gateway("host") { _, text in try PushGateway("http://\(text):1", job: "backup") }
      + gateway("port") { _, text in try PushGateway("http://127.0.0.1:\(text)", job: "backup") }
      + gateway("path") { try PushGateway("\($0.url().absoluteString)\($1)", job: "backup") }
      + gateway("job") { try PushGateway($0.url().absoluteString, job: $1) }
      + gateway("grouping's name") {
        try PushGateway($0.url().absoluteString, job: "backup", grouping: [$1: "a"])
      }
      + gateway("grouping's value") {
        try PushGateway($0.url().absoluteString, job: "backup", grouping: ["a": $1])
      }
      + Extreme.eachWhileRunning("PushGateway.init(_:job:grouping:)", ports) { running, port in
        try await running.tap.push(
          to: try PushGateway("http://127.0.0.1:\(port)", job: "backup"), retry: once)
      }
      + retry("attempts", Extremes.integers) { $0.attempts = $1 }
      + retry("deadline", Extremes.durations) { $0.deadline = $1 }
      + retry("firstDelay", Extremes.durations) {
        $0.firstDelay = $1
        $0.maximumDelay = max($1, $0.maximumDelay)
      }
      + retry("maximumDelay", Extremes.durations) {
        $0.maximumDelay = $1
        $0.firstDelay = $1
      }
      + Extreme.eachWhileRunning("MetricsPusher.run(every:onError:)", Extremes.durations) {
        running, interval in
        let pusher = try MetricsPusher(
          registry: running.tap.registry, to: PushGateway(running.origin.url().absoluteString, job: "backup"))
        let run = Task { await pusher.run(every: interval) }
        // Meanwhile the run gets to its wait, as a rule: nothing tells.
        try await running.request(URLSession(configuration: .ephemeral))
        run.cancel()
        await run.value
      }
  }

  private static let ports: Extremes.Values<String> = [
    ("port: 0", "0"), ("port: 65536", "65536"), ("port: Int.max", String(Int.max)),
    ("port: more than Int.max", String(repeating: "9", count: 100)),
  ]

  private static var once: PushRetry {
    var retry = PushRetry()
    retry.attempts = 1
    return retry
  }

  /// Pushes. Where the next try at a busy gateway may never come, it gives up after an answer.
  private static func push(_ running: ExtremeTrial.Running, _ retry: PushRetry, isBusy: Bool) async throws {
    let answered = Gate()
    let gateway = try Origin { _ in
      [.response(isBusy ? "503 Service Unavailable" : "200 OK"), .signal(answered), .close]
    }
    defer { gateway.stop() }
    let target = try PushGateway(gateway.url().absoluteString, job: "backup")
    let push = Task { try await running.tap.push(to: target, retry: retry) }
    if isBusy, retry.attempts > 3 || min(retry.firstDelay, retry.maximumDelay) > .seconds(1) {
      try await answered.wait("an answer of the gateway")
      push.cancel()
    }
    try await push.value
  }
}
