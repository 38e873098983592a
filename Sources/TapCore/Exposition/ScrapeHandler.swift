import Synchronization

/// Answers scrapes of a registry: chooses the format, gathers, writes and compresses.
///
/// `perform` runs the work, one gathering at a time. Scrapes that arrive during a gathering wait for the next
/// one and share it: each sees everything that was recorded before it came, and a crowd of scrapers costs at
/// most two gatherings in a row.
package final class ScrapeHandler: Sendable {
  /// Called once: with the answer, on the thread that did the work, or with `nil` if the work could not be
  /// started.
  package typealias Completion = @Sendable (Exposition?) -> Void
  /// Runs work away from the caller, such as `{ queue.async(execute: $0) }`. If it throws, the work is not
  /// run.
  package typealias Perform = @Sendable (@escaping @Sendable () -> Void) throws -> Void

  private let registry: Registry
  private let perform: Perform
  private let state = Mutex(State())

  private struct State {
    /// The scrapes that wait for the next gathering.
    var waiting: [(form: Form, completion: Completion)] = []
    var isWorking = false
  }

  /// What a scrape asks for. Scrapes of the same form get the same bytes.
  private struct Form: Hashable {
    let format: NegotiatedFormat
    let prefersGzip: Bool
    let names: Set<String>?
  }

  package init(registry: Registry, perform: @escaping Perform) {
    (self.registry, self.perform) = (registry, perform)
  }

  /// Answers one scrape. The headers choose format and coding, `names` the families or samples (`nil`: all).
  /// Returns at once.
  package func scrape(
    accept: String?, acceptEncoding: String?, names: Set<String>? = nil, completion: @escaping Completion
  ) {
    let form = Form(
      format: NegotiatedFormat(accept: accept), prefersGzip: Gzip.isPreferred(by: acceptEncoding),
      names: names)
    let isFirst = state.withLock { state in
      state.waiting.append((form, completion))
      defer { state.isWorking = true }
      return !state.isWorking
    }
    guard isFirst, (try? perform { [self] in work() }) == nil else { return }
    let refused = state.withLock { state in
      state.isWorking = false
      return exchange(&state.waiting, with: [])
    }
    for scrape in refused { scrape.completion(nil) }
  }

  private func work() {
    while true {
      let waiting = state.withLock { state in
        state.isWorking = !state.waiting.isEmpty
        return exchange(&state.waiting, with: [])
      }
      if waiting.isEmpty { return }
      let families = registry.gather()
      // Form by form, so that one body is released before the next is made.
      for (form, scrapes) in Dictionary(grouping: waiting, by: \.form) {
        let answer = Exposition(
          of: families, in: form.format.format, as: form.format.contentType, names: form.names,
          isCompressed: form.prefersGzip)
        for scrape in scrapes { scrape.completion(answer) }
      }
    }
  }
}
