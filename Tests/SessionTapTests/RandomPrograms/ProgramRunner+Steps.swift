import SessionTap
import TestSupport

extension ProgramRunner {
  func makeTap(_ name: ProgramName, _ hasEndpoint: Bool, _ hasLog: Bool) {
    var configuration = Tap.Configuration(environment: [:])
    configuration.isQuiet = true
    configuration.endpoint = hasEndpoint ? Endpoint.Configuration(address: .loopback(port: 0)) : nil
    // Takes most of the time of a scrape.
    configuration.exposesProcess = false
    configuration.log = hasLog ? .memory : nil
    configuration.logging.recentLineLimit = 2_000
    do {
      let tap = try Tap(configuration)
      state.withLock { $0.taps[name] = tap }
    } catch {
      note("\(name): \(error)")
    }
  }

  func configuration(_ source: RandomProgram.Source) -> URLSessionConfiguration {
    switch source {
    case .ephemeral: .ephemeral
    case .standard: .default
    case .configuration(let name): state.withLock { $0.configurations[name] } ?? .ephemeral
    case .session(let name): session(name)?.configuration ?? .ephemeral
    }
  }

  func makeSession(_ name: ProgramName, _ making: RandomProgram.SessionMaking, hasDelegate: Bool) {
    let delegate = hasDelegate ? CompletionDelegate() : nil
    let session =
      switch making {
      case .stock(let source):
        URLSession(configuration: configuration(source), delegate: delegate, delegateQueue: nil)
      case .shared: URLSession.shared
      }
    state.withLock { $0.sessions[name] = session }
  }

  func start(_ name: ProgramName, succeeds: Bool?) {
    do {
      try tap(name)?.start()
      if succeeds == false { note("\(name).start() did not throw") }
    } catch {
      if succeeds == true { note("\(name).start() threw: \(error)") }
    }
  }

  func shutdown(_ name: ProgramName) async {
    guard let tap = tap(name) else { return }
    let isDone = Gate()
    Task {
      await tap.shutdown()
      isDone.open()
    }
    await wait(for: isDone, "end of \(name).shutdown()")
  }

  func scrape(_ name: ProgramName) async {
    guard let tap = tap(name) else { return }
    var text = tap.registry.text
    // A tap that is being shut down may refuse.
    if let address = tap.address, let url = URL(string: "http://\(address)/metrics"),
      let (data, _) = try? await Self.scraper.data(from: url)
    {
      text = String(decoding: data, as: UTF8.self)
    }
    if let imbalance = TapReading.imbalance(of: text) { note("scrape(\(name)): \(imbalance)") }
  }

  private static let scraper = URLSession(configuration: .ephemeral)

  // MARK: Requests

  func make(_ request: ProgramRequest) async {
    let done = Gate()
    start(request) { done.open() }
    await wait(for: done, "end of \(request.name)")
  }

  func begin(_ request: ProgramRequest) async {
    let begun = OpenRequest()
    open.change { $0[request.name] = begun }
    let cancel = start(request) { begun.done.open() }
    open.change { $0[request.name]?.cancel = cancel }
    await wait(for: begun.arrived, "request \(request.name) at its server")
  }

  func finish(_ name: ProgramName) async {
    guard let request = open.state[name] else { return }
    request.release.open()
    await wait(for: request.done, "end of \(name), which its server has answered")
  }

  func cancel(_ name: ProgramName) async {
    guard let request = open.state[name] else { return }
    request.cancel()
    await wait(for: request.done, "end of \(name), which is cancelled")
    request.release.open()
  }

  @discardableResult
  private func start(
    _ request: ProgramRequest, whenDone done: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    guard let session = session(request.session) else { return {} }
    let port: Int? =
      switch request.target {
      case .origin(.refused): closed.port
      case .origin, .held: origin.port
      case .endpoint(let name): tap(name)?.address?.port
      case .schemeless: nil
      }
    let urlRequest = request.urlRequest(port: port)
    let cancel = sender.start(
      urlRequest, request.kind, request.style, in: session, resumes: request.cancel != .beforeResume,
      whenDone: done)
    if request.cancel != .never { cancel() }
    return cancel
  }
}
