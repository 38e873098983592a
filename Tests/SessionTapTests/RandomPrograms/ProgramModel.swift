import TestSupport

/// What the taps of a program must have counted, and what its calls must give. Pure: it is told the steps,
/// and runs none.
///
/// The rules:
/// - Patching copies a configuration, and leaves the original alone. Installing changes a live session.
/// - However often and in whatever order taps patch, each that has patched observes each request once, under
///   the name that it gave last.
/// - To uninstall removes that tap alone, wherever its class stands.
/// - A tap that was shut down before a request starts does not count it. What is open at a shutdown has
///   started for it, and has ended for it or not.
/// - `install` says whether the session is observed: not by a tap that was shut down.
/// - `start()` throws unless it is the first and comes before a shutdown.
struct ProgramModel {
  typealias Step = RandomProgram.Step

  enum Phase { case idle, running, stopped }

  struct Tap {
    let hasEndpoint: Bool
    let hasLog: Bool
    var phase = Phase.idle
    /// Whether the tap serves its metrics.
    var isServing: Bool { hasEndpoint && phase == .running }
  }

  struct Session {
    let hasDelegate: Bool
    var isShared = false
    /// The name that each tap has given it.
    var clients: [ProgramName: String]
  }

  /// How often a tap counts a request: once, never, or either.
  struct Observation {
    let request: ProgramName
    let client: String
    var started: ClosedRange<Int>
    var ended = 0...0
    var cancelled = 0...0
    var active: ClosedRange<Int> { ended == started && ended.count == 1 ? 0...0 : 0...started.upperBound }

    mutating func end(isCertain: Bool, isCancelled: Bool) {
      ended = isCertain ? started : 0...started.upperBound
      if isCancelled { cancelled = ended }
    }
  }

  private(set) var taps: [ProgramName: Tap] = [:]
  private(set) var configurations: [ProgramName: [ProgramName: String]] = [:]
  private(set) var sessions: [ProgramName: Session] = [:]
  private(set) var open: [ProgramName: ProgramRequest] = [:]
  private(set) var observations: [ProgramName: [Observation]] = [:]

  /// Takes a step.
  ///
  /// - Returns: Whether the call of `start` or `install` does what it is told to: throws nothing, or gives
  /// `true`.
  @discardableResult
  mutating func take(_ step: Step) -> Bool { take(step, besideShutdownOf: []) }

  /// What is open at the end of the program is answered then.
  mutating func end() { for request in open.keys.sorted() { take(.finish(request)) } }

  /// - Parameter stopping: The taps that are shut down at the same time.
  private mutating func take(_ step: Step, besideShutdownOf stopping: Set<ProgramName>) -> Bool {
    switch step {
    case .tap(let name, let hasEndpoint, let hasLog):
      taps[name] = Tap(hasEndpoint: hasEndpoint, hasLog: hasLog)
    case .patch(let name, let tap, let source, let client):
      configurations[name] = clients(of: source).merging([tap: client]) { $1 }
    case .session(let name, .stock(let source), let hasDelegate):
      sessions[name] = Session(hasDelegate: hasDelegate, clients: clients(of: source))
    case .session(let name, .shared, _):
      sessions[name] = Session(hasDelegate: false, isShared: true, clients: [:])
    case .install(let tap, let session, let client):
      sessions[session]?.clients[tap] = client
      return taps[tap]?.phase != .stopped
    case .uninstall(let tap, let session): sessions[session]?.clients[tap] = nil
    case .request(let request):
      begin(request, besideShutdownOf: stopping)
      end(request, isCancelled: request.cancel != .never, besideShutdownOf: stopping)
    case .begin(let request):
      begin(request, besideShutdownOf: stopping)
      open[request.name] = request
    case .finish(let name), .cancel(let name):
      guard let request = open.removeValue(forKey: name) else { break }
      let isCancelled = if case .cancel = step { true } else { false }
      end(request, isCancelled: isCancelled, besideShutdownOf: stopping)
    case .start(let tap):
      let isFirst = taps[tap]?.phase == .idle
      if isFirst { taps[tap]?.phase = .running }
      return isFirst
    case .shutdown(let tap): taps[tap]?.phase = .stopped
    case .scrape: break
    case .together(let steps):
      let stopping = Set(steps.compactMap(\.stoppedTap))
      for step in steps where step.stoppedTap == nil { _ = take(step, besideShutdownOf: stopping) }
      for tap in stopping { taps[tap]?.phase = .stopped }
    }
    return true
  }

  private func clients(of source: RandomProgram.Source) -> [ProgramName: String] {
    switch source {
    case .ephemeral, .standard: [:]
    case .configuration(let name): configurations[name] ?? [:]
    case .session(let name): sessions[name]?.clients ?? [:]
    }
  }

  private mutating func begin(_ request: ProgramRequest, besideShutdownOf others: Set<ProgramName>) {
    guard request.cancel != .beforeResume else { return }
    for (tap, client) in sessions[request.session]?.clients ?? [:] {
      guard taps[tap]?.phase != .stopped else { continue }
      let started = others.contains(tap) ? 0...1 : 1...1
      observations[tap, default: []].append(
        Observation(request: request.name, client: client, started: started))
    }
  }

  private mutating func end(
    _ request: ProgramRequest, isCancelled: Bool, besideShutdownOf others: Set<ProgramName>
  ) {
    for tap in observations.keys {
      let isCertain = taps[tap]?.phase != .stopped && !others.contains(tap)
      for index in (observations[tap] ?? []).indices where observations[tap]?[index].request == request.name {
        observations[tap]?[index].end(isCertain: isCertain, isCancelled: isCancelled)
      }
    }
  }
}

extension RandomProgram.Step {
  var stoppedTap: ProgramName? { if case .shutdown(let tap) = self { tap } else { nil } }
  var isBegin: Bool { if case .begin = self { true } else { false } }
}
