import Synchronization

/// Answers scrapes of a registry: chooses the format, gathers, writes and compresses.
///
/// The work is done where `perform` puts it, one gathering at a time. Scrapes that arrive while one is under way
/// wait for the next and share it: each sees everything that was recorded before it came, and a crowd of
/// scrapers costs no more than two gatherings in a row.
public final class ScrapeHandler: Sendable {
  /// Called once with the answer, on the thread that did the work.
  public typealias Completion = @Sendable (ScrapeAnswer) -> Void

  private let registry: Registry
  private let perform: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let state = Mutex(State())

  /// Makes a handler.
  ///
  /// - Parameters:
  ///   - registry: what is exposed.
  ///   - perform: runs the work away from the caller, such as `{ queue.async(execute: $0) }`.
  public init(
    registry: Registry, perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.registry = registry
    self.perform = perform
  }

  /// Answers one scrape. Returns at once.
  ///
  /// - Parameters:
  ///   - accept: the value of the request's `Accept` header, if it has one.
  ///   - acceptEncoding: the value of its `Accept-Encoding` header, if it has one.
  ///   - names: the families that are wanted, by their names or those of their samples; `nil` for all.
  ///   - completion: takes the answer.
  public func scrape(
    accept: String?, acceptEncoding: String?, names: Set<String>? = nil, completion: @escaping Completion
  ) {
    let form = Form(
      format: ExpositionFormat(accept: accept), coding: ContentCoding(acceptEncoding: acceptEncoding),
      names: names)
    let isFirst = state.withLock { $0.add(completion, form) }
    if isFirst { perform { [self] in work() } }
  }

  /// Answers everyone who waits, until nobody does.
  private func work() {
    while let waiting = state.withLock({ $0.takeAll() }) {
      for (form, completions) in waiting {
        let answer = answer(in: form)
        for completion in completions { completion(answer) }
      }
    }
  }

  private func answer(in form: Form) -> ScrapeAnswer {
    let exposition = registry.exposition(in: form.format, names: form.names)
    return ScrapeAnswer(format: form.format, coding: .identity, bytes: exposition.bytes)
  }

  private struct Form: Hashable {
    let format: ExpositionFormat
    let coding: ContentCoding
    let names: Set<String>?
  }

  private struct State {
    private var waiting: [Form: [Completion]] = [:]
    private var isWorking = false

    /// Whether nobody works yet.
    mutating func add(_ completion: @escaping Completion, _ form: Form) -> Bool {
      waiting[form, default: []].append(completion)
      defer { isWorking = true }
      return !isWorking
    }

    /// `nil` ends the work.
    mutating func takeAll() -> [Form: [Completion]]? {
      defer { waiting = [:] }
      isWorking = !waiting.isEmpty
      return isWorking ? waiting : nil
    }
  }
}
