import Foundation
import SessionTap

/// What both commands do around their requests: serve, log, show a summary, end cleanly.
struct ObservedRun {
  private let termination = Termination()
  private let tap: Tap
  private let tally = RequestTally()

  /// Starts the tap.
  init(_ options: CommonOptions, templates: PathTemplates = []) throws(TapError) {
    var configuration = Tap.Configuration(environment: ProcessInfo.processInfo.environment)
    for warning in configuration.warnings { Terminal.say("warning  \(warning)") }
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: options.port))
    configuration.log =
      switch options.log {
      case "off": nil
      case "-": .standardError
      default: .file(options.log)
      }
    configuration.observers = [tally]
    configuration.requests.pathTemplates = templates
    tap = try Tap.start(configuration)
    Terminal.say("metrics  http://\(tap.address?.description ?? "")/metrics")
    Terminal.say("log      \(options.log == "-" ? "standard error" : options.log)")
  }

  /// Makes requests until they come to their end, the time is over, or a signal asks to stop.
  ///
  /// - Parameter endsWithRequests: Whether the run is over when the requests are, or goes on serving.
  func run(
    atMost duration: Duration?, endsWithRequests: Bool, requests: @escaping @Sendable (Tap) async -> Void
  ) async {
    let start = ContinuousClock.now
    let traffic = Task { [tap] in await requests(tap) }
    let summary = Task { await showSummary(since: start) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await termination.wait(atMost: duration) }
      if endsWithRequests { group.addTask { await traffic.value } }
      await group.next()
      group.cancelAll()
    }
    traffic.cancel()
    await traffic.value
    summary.cancel()
    await summary.value
    Terminal.finishLine(SummaryLine.text(tally.counts, elapsed: start.duration(to: .now)))
    await tap.shutdown()
  }

  /// A line that is written over on a terminal, and one every ten seconds elsewhere.
  private func showSummary(since start: ContinuousClock.Instant) async {
    let pause = Terminal.isInteractive ? Duration.milliseconds(500) : .seconds(10)
    while (try? await Task.sleep(for: pause)) != nil {
      let line = SummaryLine.text(tally.counts, elapsed: start.duration(to: .now))
      if Terminal.isInteractive { Terminal.replaceLine(line) } else { Terminal.say(line) }
    }
  }
}
