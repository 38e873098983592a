import Synchronization

/// Answers scrapes of a registry: chooses the format, gathers, writes and compresses, and counts itself.
///
/// The work is done where `perform` puts it, one gathering at a time. Scrapes that arrive while one is under way
/// wait for the next and share it: each sees everything that was recorded before it came, and a crowd of
/// scrapers costs no more than two gatherings in a row.
public final class ScrapeHandler: Sendable {
  /// Called once with the answer, on the thread that did the work.
  public typealias Completion = @Sendable (ScrapeAnswer) -> Void

  private let registry: Registry
  private let metrics: ScrapeMetrics
  private let perform: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let queue = Mutex(ScrapeQueue())

  /// Makes a handler and registers its metrics.
  ///
  /// - Parameters:
  ///   - registry: what is exposed.
  ///   - perform: runs the work away from the caller, such as `{ queue.async(execute: $0) }`.
  /// - Throws: ``RegistryError`` if the app has taken a name such as `session_tap_scrapes_total` for something else.
  public init(
    registry: Registry, perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) throws(RegistryError) {
    self.registry = registry
    self.perform = perform
    metrics = try ScrapeMetrics(registry: registry)
  }

  /// Answers one scrape. Returns at once.
  ///
  /// - Parameters:
  ///   - accept: the value of the request's `Accept` header, if it has one.
  ///   - acceptEncoding: the value of its `Accept-Encoding` header, if it has one.
  ///   - completion: takes the answer, which is to be sent with status 200.
  public func scrape(
    accept: String?, acceptEncoding: String?, completion: @escaping Completion
  ) {
    let start = ContinuousClock.now
    metrics.started()
    let request = ScrapeQueue.Request(
      format: ExpositionFormat(accept: accept), coding: ContentCoding(acceptEncoding: acceptEncoding)
    ) { [metrics] answer in
      metrics.answered(answer.format, after: ContinuousClock.now - start)
      completion(answer)
    }
    if queue.withLock({ $0.add(request) }) { perform { [self] in work() } }
  }

  /// Counts a scrape that was answered with another status, such as 503.
  public func countRefusal(statusCode: Int) {
    metrics.count(code: statusCode, format: nil)
  }

  /// Answers everyone who waits, until nobody does.
  private func work() {
    while let requests = queue.withLock({ $0.takeAll() }) {
      let families = registry.gather()
      var expositions: [ExpositionFormat: Exposition] = [:]
      var answers: [ExpositionFormat: [ContentCoding: ScrapeAnswer]] = [:]
      for request in requests {
        let exposition =
          expositions[request.format] ?? Exposition(of: families, in: request.format)
        expositions[request.format] = exposition
        let answer = answers[request.format]?[request.coding] ?? ScrapeAnswer(exposition, request.coding)
        answers[request.format, default: [:]][request.coding] = answer
        request.completion(answer)
      }
    }
  }
}
