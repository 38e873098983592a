import SessionTap
import TestSupport

/// Runs a program, and compares what comes of it with the model. Whatever it waits for has a deadline: what
/// does not come is a finding.
final class ProgramRunner: Sendable {
  /// A request that the server answers when the program says so.
  struct OpenRequest: Sendable {
    let arrived = Gate()
    let release = Gate()
    let done = Gate()
    var cancel: @Sendable () -> Void = {}

    func steps(for request: OriginRequest) -> [OriginStep] {
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
      if request.method == "HEAD" { return [.signal(arrived), .hold(release), .text(head)] }
      return request.path.hasSuffix("halfway")
        ? [.text(head + "first"), .signal(arrived), .hold(release), .text("other")]
        : [.signal(arrived), .hold(release), .text(head + "firstother")]
    }
  }

  struct State {
    var taps: [ProgramName: Tap] = [:]
    var configurations: [ProgramName: URLSessionConfiguration] = [:]
    var sessions: [ProgramName: URLSession] = [:]
    var findings: [String] = []
    var isStuck = false
  }

  let state = Mutex(State())
  /// The seconds that a step may take.
  let deadline = 30.0
  let open = Watched<[ProgramName: OpenRequest]>([:])
  let origin: Origin
  let closed: ClosedPort
  let sender: RequestSender

  /// Runs a program, and gives what is not as the model says.
  static func findings(_ program: RandomProgram) async throws -> [String] {
    let runner = try ProgramRunner()
    // The shared session outlives the program.
    let shared = URLSession.shared.configuration.protocolClasses
    await runner.run(program)
    URLSession.shared.configuration.protocolClasses = shared
    return runner.state.withLock { $0.findings }
  }

  private init() throws {
    closed = try ClosedPort()
    sender = try RequestSender()
    origin = try Origin(keepsRequests: false) { [open] request in
      let name = request.path.split(separator: "/").first.map { String($0) } ?? ""
      return open.state[name]?.steps(for: request) ?? RandomRequest.steps(for: request)
    }
  }

  private func run(_ program: RandomProgram) async {
    var model = ProgramModel()
    for step in program.steps where !isStuck {
      let succeeds = model.take(step)
      await perform(step, succeeds: succeeds)
      checkAddresses(model, after: step)
    }
    await end(&model)
  }

  /// Lets the servers answer what is open, reads, shuts all taps down, and reads again.
  private func end(_ model: inout ProgramModel) async {
    for request in model.open.keys.sorted() { await finish(request) }
    model.end()
    if !isStuck { compare(model, hasLines: false) }
    for tap in state.withLock({ $0.taps.keys.sorted() }) { await shutdown(tap) }
    if state.withLock({ $0.findings.isEmpty }) { compare(model, hasLines: true) }
    for session in state.withLock({ Array($0.sessions.values) }) where session !== URLSession.shared {
      session.finishTasksAndInvalidate()
    }
    for request in open.state.values { request.release.open() }
    origin.stop()
  }

  /// - Parameter succeeds: `nil` where that is not known.
  private func perform(_ step: RandomProgram.Step, succeeds: Bool?) async {
    switch step {
    case .tap(let name, let hasEndpoint, let hasLog): makeTap(name, hasEndpoint, hasLog)
    case .patch(let name, let tap, let source, let client):
      let patched = self.tap(tap)?.sessionConfiguration(from: configuration(source), client: client)
      state.withLock { $0.configurations[name] = patched }
    case .session(let name, let making, let hasDelegate): makeSession(name, making, hasDelegate: hasDelegate)
    case .install(let tap, let name, let client):
      guard let session = session(name) else { break }
      let isObserved = self.tap(tap)?.install(on: session, client: client) == true
      if isObserved != succeeds { note("\(step) gave \(isObserved)") }
    case .uninstall(let tap, let name):
      if let session = session(name) { self.tap(tap)?.uninstall(from: session) }
    case .request(let request): await make(request)
    case .begin(let request): await begin(request)
    case .finish(let request): await finish(request)
    case .cancel(let request): await cancel(request)
    case .start(let tap): start(tap, succeeds: succeeds)
    case .shutdown(let tap): await shutdown(tap)
    case .scrape(let tap): await scrape(tap)
    case .together(let steps):
      let start = Gate()
      await withTaskGroup { group in
        for step in steps {
          group.addTask {
            try? await start.wait(seconds: self.deadline)
            await self.perform(step, succeeds: nil)
          }
        }
        start.open()
      }
    }
  }

  private func checkAddresses(_ model: ProgramModel, after step: RandomProgram.Step) {
    for (name, tap) in model.taps {
      let address = self.tap(name)?.address
      if (address != nil) != tap.isServing {
        note("\(name).address is \(address.map { "\($0)" } ?? "nil") after \(step)")
      }
    }
  }

  private func compare(_ model: ProgramModel, hasLines: Bool) {
    do {
      let readings = try state.withLock { $0.taps }.mapValues { try TapReading($0) }
      for finding in model.findings(readings, hasLines: hasLines) { note(finding) }
    } catch {
      note("a log cannot be read: \(error)")
    }
  }

  private var isStuck: Bool { state.withLock { $0.isStuck } }

  func tap(_ name: ProgramName) -> Tap? { state.withLock { $0.taps[name] } }

  func session(_ name: ProgramName) -> URLSession? { state.withLock { $0.sessions[name] } }

  func note(_ finding: String) { state.withLock { $0.findings.append(finding) } }

  /// Waits for an event. What does not come in time ends the program.
  func wait(for gate: Gate, _ what: String) async {
    do {
      // What hangs has taken its time already.
      try await gate.wait(seconds: isStuck ? 1 : deadline, what)
    } catch {
      state.withLock { state in
        state.findings.append("\(error)")
        state.isStuck = true
      }
    }
  }
}
