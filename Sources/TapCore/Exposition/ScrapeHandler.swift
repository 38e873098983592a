import Synchronization

/// Answers scrapes of a registry: chooses the format, gathers, writes and compresses.
///
/// The work is done where `perform` puts it, one gathering at a time. Scrapes that arrive while one is under way
/// wait for the next and share it: each sees everything that was recorded before it came, and a crowd of
/// scrapers costs no more than two gatherings in a row.
package final class ScrapeHandler: Sendable {
  /// Called once with the answer, on the thread that did the work.
  package typealias Completion = @Sendable (ScrapeAnswer) -> Void

  private let registry: Registry
  private let perform: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let state = Mutex(State())

  private struct State {
    /// The scrapes that wait for the next gathering.
    var waiting: [(form: Form, completion: Completion)] = []
    var isWorking = false
  }

  /// What a scrape asks for. Scrapes of the same form get the same bytes.
  private struct Form: Hashable {
    let format: ExpositionFormat
    let coding: ContentCoding
    let names: Set<String>?
  }

  /// Makes a handler.
  ///
  /// - Parameters:
  ///   - registry: what is exposed.
  ///   - perform: runs the work away from the caller, such as `{ queue.async(execute: $0) }`.
  package init(
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
  ///   - completion: takes the answer, which is to be sent with status 200.
  package func scrape(
    accept: String?, acceptEncoding: String?, names: Set<String>? = nil, completion: @escaping Completion
  ) {
    let form = Form(
      format: ExpositionFormat(accept: accept), coding: ContentCoding(acceptEncoding: acceptEncoding),
      names: names)
    let isFirst = state.withLock { state in
      state.waiting.append((form, completion))
      defer { state.isWorking = true }
      return !state.isWorking
    }
    if isFirst { perform { [self] in work() } }
  }

  /// Answers the waiting scrapes until there are none.
  private func work() {
    while true {
      let waiting = state.withLock { state in
        state.isWorking = !state.waiting.isEmpty
        defer { state.waiting = [] }
        return state.waiting
      }
      if waiting.isEmpty { return }
      let families = registry.gather()
      var answers: [Form: ScrapeAnswer] = [:]
      for (form, completion) in waiting {
        let answer =
          answers[form]
          ?? ScrapeAnswer(Exposition(of: families, in: form.format, names: form.names), form.coding)
        answers[form] = answer
        completion(answer)
      }
    }
  }
}

/// The answer to one scrape, ready to be sent with status 200.
package struct ScrapeAnswer: Sendable, Hashable {
  /// The format of the body before any compression.
  package let format: ExpositionFormat
  /// How the body is coded.
  package let coding: ContentCoding
  /// The body.
  package let bytes: [UInt8]

  /// The value of the `Content-Type` header.
  package var contentType: String { format.contentType }

  /// The value of the `Content-Encoding` header, `nil` where there is to be none.
  package var contentEncoding: String? { coding == .identity ? nil : coding.rawValue }

  /// Codes an exposition as asked, or not at all where the system cannot.
  init(_ exposition: Exposition, _ coding: ContentCoding) {
    format = exposition.format
    if coding == .gzip, let compressed = Gzip.system?.compress(exposition.bytes) {
      self.coding = .gzip
      bytes = compressed
    } else {
      self.coding = .identity
      bytes = exposition.bytes
    }
  }
}
