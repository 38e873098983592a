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

  func start(_ name: ProgramName, _ outcome: ProgramModel.Outcome) {
    do {
      try tap(name)?.start()
      if outcome == .fails { note("\(name).start() did not throw") }
    } catch {
      if outcome == .returns { note("\(name).start() threw: \(error)") }
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

  func begin(_ name: ProgramName, of tap: ProgramName, _ outcome: ProgramModel.Outcome) async {
    guard let tap = self.tap(tap) else { return }
    let isOver = Gate()
    let task = Task { () -> String? in
      defer { isOver.open() }
      do {
        try await tap.run()
        return nil
      } catch {
        return "\(error)"
      }
    }
    state.withLock { $0.runs[name] = Run(isOver: isOver, task: task) }
    switch outcome {
    case .fails: await wait(for: isOver, "error of \(name), whose tap was shut down before")
    case .returns:
      do {
        _ = try await Poll.until(seconds: deadline, "address of the tap of \(name)") { tap.address }
      } catch {
        noteStuck(error)
      }
    case .either: break
    }
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
    if Books(text).balance != 0 { note("scrape(\(name)): started is not ended + active: \(Books(text))") }
  }

  private static let scraper = URLSession(configuration: .ephemeral)

  func watch(_ name: ProgramName) {
    guard let registry = tap(name)?.registry else { return }
    state.withLock { state in
      guard state.watches[name] == nil else { return }
      state.watches[name] = ScrapeWatch { Books(registry.text).balance }
    }
  }
}

/// Scrapes without pause on a thread of its own, until it is told to end.
final class ScrapeWatch: Sendable {
  struct Result: Sendable {
    var scrapes = 0
    var unbalanced = 0
  }

  private let result = Mutex(Result())
  private let isOver = Atomic<Bool>(false)
  private let isDone = Gate()

  /// - Parameter balance: Scrapes, and gives 0 if the books balance.
  init(balance: @escaping @Sendable () -> Double) {
    Thread.detachNewThread { [self] in
      while !isOver.load(ordering: .relaxed) {
        let isBalanced = balance() == 0
        result.withLock {
          $0.scrapes += 1
          if !isBalanced { $0.unbalanced += 1 }
        }
      }
      isDone.open()
    }
  }

  func end() async -> Result {
    isOver.store(true, ordering: .relaxed)
    try? await isDone.wait(seconds: 60, "the last scrape")
    return result.withLock { $0 }
  }
}
