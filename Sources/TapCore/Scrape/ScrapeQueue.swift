/// The scrapes that wait for the next gathering.
struct ScrapeQueue: Sendable {
  private var waiting: [Request] = []
  private var isWorking = false

  /// What a scrape asks for. Those that ask for the same get the same bytes.
  struct Form: Sendable, Hashable {
    let format: ExpositionFormat
    let coding: ContentCoding
    let names: Set<String>?
  }

  /// A scrape that waits.
  struct Request: Sendable {
    let form: Form
    let completion: @Sendable (ScrapeAnswer) -> Void
  }

  /// Adds a scrape. Whether the work has to be begun.
  mutating func add(_ request: Request) -> Bool {
    waiting.append(request)
    defer { isWorking = true }
    return !isWorking
  }

  /// All that wait; `nil`, which ends the work, if none do.
  mutating func takeAll() -> [Request]? {
    defer { waiting = [] }
    isWorking = !waiting.isEmpty
    return isWorking ? waiting : nil
  }
}
