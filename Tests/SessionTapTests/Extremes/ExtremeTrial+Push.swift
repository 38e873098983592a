import SessionTap
import Synchronization
import TestSupport

/// The table: pushes to a gateway. One that is busy lets the pusher wait between its tries.
extension ExtremeTrial {
  static var pushes: [ExtremeTrial] {
    func gateway(
      _ others: NamedValues<String> = [],
      _ make: @escaping @Sendable (_ url: String, String) throws -> PushGateway
    ) -> [ExtremeTrial] {
      use("PushGateway.init(_:job:grouping:)", and: others) { running, text in
        var once = PushRetry()
        once.attempts = 1
        let url = "http://127.0.0.1:\(running.origin.port)"
        try await MetricsPusher(registry: running.registry, to: make(url, text), retry: once).push()
      }
    }
    let retries = properties(
      of: PushRetry.self, \.attempts, \.deadline, \.firstDelay, \.maximumDelay
    ) { setting, changes in
      use(setting, at: changes) { running, change in
        var retry = PushRetry()
        (retry.attempts, retry.firstDelay) = (3, .milliseconds(1))
        change(&retry)
        try await push(running, retry)
        try await pushInVain(running, retry)
        try checkDelays(running, retry)
      }
    }
    let ports = ["0", "65536", "\(Int.max)", String(repeating: "9", count: 100)].map { ("port \($0)", $0) }
    return retries
      + gateway { try PushGateway($1, job: "backup") }
      + gateway { try PushGateway("http://\($1):1", job: "backup") }
      + gateway(ports) { try PushGateway("http://127.0.0.1:\($1)", job: "backup") }
      + gateway { try PushGateway("\($0)/\($1)", job: "backup") }
      + gateway { try PushGateway($0, job: $1) }
      + gateway { try PushGateway($0, job: "backup", grouping: [$1: "a"]) }
      + gateway { try PushGateway($0, job: "backup", grouping: ["a": $1]) }
      + use("MetricsPusher.run(every:lastWithin:onError:)") { running, interval in
        let closed = try ClosedPort()
        let gateway = try PushGateway("http://127.0.0.1:\(closed.port)", job: "backup")
        var retry = PushRetry()
        retry.attempts = 1
        let pusher = try MetricsPusher(registry: running.registry, to: gateway, retry: retry)
        let failed = Gate()
        let run = Task {
          await pusher.run(every: interval, lastWithin: max(interval, .seconds(1))) { _ in failed.open() }
        }
        if interval < .seconds(1) {
          try await failed.wait("a push")
        } else {
          // Until it sleeps, or has ended the process.
          for _ in 0..<100 { await Task.yield() }
        }
        run.cancel()
        await run.value
        try running.expect(failed.isOpen, "no push was tried")
      }
  }

  /// A push has the time that it was given, and fails without any.
  private static func push(_ running: RunningExtreme, _ retry: PushRetry) async throws {
    let gateway = try PushGateway("http://127.0.0.1:\(running.origin.port)", job: "backup")
    var once = retry
    once.attempts = 1
    do {
      try await MetricsPusher(registry: Registry(), to: gateway, retry: once).push()
      try running.expect(retry.deadline > .zero, "it takes no time")
    } catch let error as PushError {
      try running.expect(error.isTransient && retry.deadline < .seconds(1), "\(error)")
    }
  }

  /// A push is tried as often as it was told, and at least once.
  private static func pushInVain(_ running: RunningExtreme, _ retry: PushRetry) async throws {
    let closed = try ClosedPort()
    let gateway = try PushGateway("http://127.0.0.1:\(closed.port)", job: "backup")
    let waits = Mutex(0)
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, retry: retry) { _ in
      // Enough to see that it goes on.
      let isEnough = waits.withLock { waits in
        waits += 1
        return waits == 3
      }
      if isEnough { throw CancellationError() }
    }
    do {
      try await pusher.push()
      throw ExtremeFault("a push to a closed port succeeds")
    } catch is PushError {}
    let count = waits.withLock { $0 }
    try running.expect(
      count == min(max(retry.attempts, 1) - 1, 3), "\(count) waits for \(retry.attempts) tries")
    // Where nothing replaces the wait, it can begin.
    let sleep = Task { try await Task.sleep(for: retry.delay(after: 1, jitter: 0)) }
    sleep.cancel()
    _ = await sleep.result
  }

  /// Between tries there is nothing to a day, and at most the maximum.
  private static func checkDelays(_ running: RunningExtreme, _ retry: PushRetry) throws {
    for other in Duration.extremes {
      for retry in [retry, retry.with(\.firstDelay, other.value), retry.with(\.maximumDelay, other.value)] {
        for attempt in Int.extremes.map(\.value) + [2, 64] {
          let delay = retry.delay(after: attempt, jitter: 0)
          let isInRange =
            (.zero ... .seconds(86_400)).contains(delay) && delay <= max(retry.maximumDelay, .zero)
          try running.expect(isInRange, "after try \(attempt) it waits another time, with \(other.name)")
        }
      }
    }
  }
}

extension PushRetry {
  fileprivate func with(_ property: WritableKeyPath<PushRetry, Duration>, _ value: Duration) -> PushRetry {
    var copy = self
    copy[keyPath: property] = value
    return copy
  }
}
