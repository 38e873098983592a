import Foundation
import SessionTap
import Synchronization

/// The common part of both commands: serves metrics, logs, shows a summary, and ends in order.
struct ObservedRun {
  private let termination = TerminationSignals()
  private let tap: Tap
  private let counter = RequestCounter()

  init(_ options: Options, templates: PathTemplates = []) throws(TapError) {
    var configuration = Tap.Configuration(environment: ProcessInfo.processInfo.environment)
    for warning in configuration.warnings { Terminal.say("warning  \(warning)") }
    configuration.exemplars = .all
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: options.port))
    configuration.log =
      switch options.log {
      case "off": nil
      case "-": .standardError
      default: .file(options.log)
      }
    configuration.observers = [counter]
    // What the page shows of it: the last lines, and those of a trace.
    configuration.servesLog = true
    // The command says so itself.
    configuration.isQuiet = true
    configuration.whenAddressInUse = .fail
    configuration.outbound.pathTemplates = templates
    tap = try Tap.start(configuration)
    let address = tap.address?.description ?? ""
    Terminal.say("page     http://\(address)/")
    Terminal.say("metrics  http://\(address)/metrics")
    Terminal.say("log      \(options.log == "-" ? "standard error" : options.log)")
  }

  /// Makes requests until the time is over, a signal asks to stop, or, if it ends with them, they come to their end.
  func run(
    atMost duration: Duration?, endsWithRequests: Bool, requests: @escaping @Sendable (Tap) async -> Void
  ) async {
    let start = ContinuousClock.now
    let traffic = Task { [tap] in await requests(tap) }
    let summary = Task { await showSummary(since: start) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await termination.wait() }
      if let duration { group.addTask { try? await Task.sleep(for: duration) } }
      if endsWithRequests { group.addTask { await traffic.value } }
      await group.next()
      // The group ends with the last of its tasks, and one may wait for the traffic.
      traffic.cancel()
      group.cancelAll()
    }
    await traffic.value
    summary.cancel()
    await summary.value
    let elapsed = start.duration(to: .now)
    // With the last requests: they come with a delay, and at the latest now.
    await tap.shutdown()
    Terminal.finishLine(counter.summary(elapsed: elapsed))
  }

  /// A line that is written over on a terminal, and one every ten seconds elsewhere.
  private func showSummary(since start: ContinuousClock.Instant) async {
    let pause = Terminal.isInteractive ? Duration.milliseconds(500) : .seconds(10)
    while (try? await Task.sleep(for: pause)) != nil {
      let line = counter.summary(elapsed: start.duration(to: .now))
      if Terminal.isInteractive { Terminal.replaceLine(line) } else { Terminal.say(line) }
    }
  }
}

/// Counts requests for the summary line: those that are made, and how many are served.
private final class RequestCounter: RequestObserver {
  struct Counts {
    var active = 0
    var served = 0
    var ended: [RequestOutcome: Int] = [:]
    var totalDuration = Duration.zero
  }

  private let counts = Mutex(Counts())

  func requestStarted(_ request: RequestDescription) {
    guard request.direction == .outbound else { return }
    counts.withLock { $0.active += 1 }
  }

  func requestEnded(_ observation: RequestObservation) {
    counts.withLock {
      guard observation.request.direction == .outbound else { return $0.served += 1 }
      $0.active -= 1
      $0.ended[observation.outcome, default: 0] += 1
      $0.totalDuration += observation.duration
    }
  }

  func summary(elapsed: Duration) -> String {
    let counts = counts.withLock { $0 }
    let seconds = elapsed / .seconds(1)
    let total = counts.ended.values.reduce(0, +)
    let mean = total > 0 ? counts.totalDuration / total / .milliseconds(1) : 0
    func count(_ outcome: RequestOutcome) -> Int { counts.ended[outcome] ?? 0 }
    func oneDecimal(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
    let rate = seconds > 0 ? Double(total) / seconds : 0
    return [
      "\(Int(seconds)) s", "\(total) requests", "\(oneDecimal(rate))/s", "\(counts.active) active",
      "\(count(.ok)) ok", "\(count(.httpError)) http errors", "\(count(.error)) errors",
      "\(count(.cancelled)) cancelled", "mean \(oneDecimal(mean)) ms",
      counts.served > 0 ? "\(counts.served) served" : nil,
    ].compactMap(\.self).joined(separator: "  ")
  }
}
