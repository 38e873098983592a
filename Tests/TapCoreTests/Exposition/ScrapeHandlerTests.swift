import TestSupport

@testable import TapCore

struct ScrapeHandlerTests {
  private let registry = Registry()

  @Test func `scrapes that arrive together share one gathering`() throws {
    let gatherings = Watched(0)
    try registry.counter("a_total", help: "").increment()
    // Asked once here, too.
    try registry.register(AskedCollector { gatherings.change { $0 += 1 } })
    let work = Watched<[@Sendable () -> Void]>([])
    let handler = ScrapeHandler(registry: registry) { job in work.change { $0.append(job) } }
    let answers = Watched<[Int: Exposition]>([:])
    for number in 0..<50 {
      let accept = number.isMultiple(of: 2) ? nil : "application/openmetrics-text"
      let names: Set<String>? = number.isMultiple(of: 5) ? [] : nil
      handler.scrape(accept: accept, acceptEncoding: nil, names: names) { answer in
        answers.change { $0[number] = answer }
      }
    }
    #expect(work.state.count == 1)
    for job in work.state { job() }
    #expect(answers.state.count == 50 && gatherings.state == 2)
    for (number, answer) in answers.state {
      #expect(answer.format == (number.isMultiple(of: 2) ? .text : .openMetrics))
      #expect(answer.text.contains("a_total 1\n") == !number.isMultiple(of: 5))
    }
  }

  /// A scrape must see what was recorded before it, even if a gathering had begun when it came.
  @Test func `a scrape during a gathering gets the next`() throws {
    let (own, seen) = (Watched<ScrapeHandler?>(nil), Watched<[String]>([]))
    @Sendable func scrape(_ handler: ScrapeHandler) {
      handler.scrape(accept: nil, acceptEncoding: nil) { answer in
        seen.change { $0.append(answer?.text ?? "refused") }
      }
    }
    // Its value is read before the collector is asked.
    let counter = try registry.counter("a_total", help: "")
    try registry.register(
      AskedCollector {
        guard let handler = own.state else { return }
        own.change { $0 = nil }
        counter.increment()
        scrape(handler)
      })
    let handler = ScrapeHandler(registry: registry) { $0() }
    own.change { $0 = handler }
    scrape(handler)
    #expect(seen.state.count == 2 && seen.state.last?.contains("a_total 1\n") == true)
  }

  @Test func `scrapes that no thread is there for are refused, and the next one is served`() throws {
    let (work, own) = (Watched<[@Sendable () -> Void]>([]), Watched<ScrapeHandler?>(nil))
    let (isRefused, answers) = (Watched(true), Watched<[Bool]>([]))
    @Sendable func scrape() {
      own.state?.scrape(accept: nil, acceptEncoding: nil) { answer in
        answers.change { $0.append(answer != nil) }
      }
    }
    let handler = ScrapeHandler(registry: registry) { job in
      guard isRefused.state else { return work.change { $0.append(job) } }
      // One arrives meanwhile.
      scrape()
      throw System.Failure.again
    }
    own.change { $0 = handler }
    scrape()
    #expect(answers.state == [false, false])
    isRefused.change { $0 = false }
    scrape()
    for job in work.state { job() }
    #expect(answers.state == [false, false, true])
    own.change { $0 = nil }
  }

  @Test(.enabled(if: Tool.isUsable("gzip") && Gzip.system != nil, "gzip or zlib is not installed"))
  func `gzip reads what is compressed`() async throws {
    let histogram = try registry.histogram("h", help: "", by: JobLabels.self)
    for number in 0..<500 { histogram[JobLabels(kind: "kind-\(number)")].record(Double(number)) }
    try registry.counter("a_total", help: "").increment()
    let exposition = registry.exposition()
    let answer = Exposition(of: registry.gather(), in: .text, isCompressed: true)
    let empty = Exposition(of: Registry().gather(), in: .text, isCompressed: true)
    let some = registry.exposition(in: .openMetrics, names: ["a_total"])
    let sameCompressed = Exposition(
      of: registry.gather(), in: .openMetrics, names: ["a_total"], isCompressed: true)
    #expect(answer.contentEncoding == "gzip")
    #expect(answer.body.count * 5 < exposition.body.count)
    // Noise does not shrink: what comes out is more than the memory for one piece of it.
    let noise = Self.noise(300_000)
    let compressed = try #require(Gzip.system?.compress(noise))
    for (body, expected) in [
      (answer.body, exposition.body), (empty.body, []), (sameCompressed.body, some.body), (compressed, noise),
    ] { #expect(try await Tool("gzip").run(["-dc"], input: body).bytes == expected) }
  }

  private static func noise(_ count: Int) -> [UInt8] {
    var generator = SeededGenerator(seed: 1)
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }

  @Test(.needs(.program), .enabled(if: Gzip.system != nil, "zlib is not installed"))
  func `what a compression takes is given back`() async {
    await #expect(processExitsWith: .success) {
      let gzip = try #require(Gzip.system)
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
      // zlib's state alone has 260 KB.
      #expect(try MemoryInUse.growth(of: 200) { _ = try #require(gzip.compress(bytes)) } < 10_000_000)
    }
  }

  /// Memory for the text of a scrape that is compressed does not grow with the number of series.
  @Test(arguments: [ExpositionFormat.text, .openMetrics])
  func `an exposition is written in pieces`(format: ExpositionFormat) throws {
    let family = try registry.counter("a_total", help: "", by: JobLabels.self)
    for number in 0..<2_000 { family[JobLabels(kind: "kind-\(number)")].increment() }
    var pieces: [[UInt8]] = []
    Exposition.write(registry.gather(), in: format, pieceLength: 1_000) { pieces.append($0) }
    #expect(Array(pieces.joined()) == registry.exposition(in: format).body)
    var all: [UInt8] = []
    registry.write(in: format) { all += $0 }
    #expect(all == registry.exposition(in: format).body)
    #expect(pieces.allSatisfy { $0.count < 1_200 })
  }
}

/// Has no metrics, and tells when it is asked for them.
struct AskedCollector: Collector {
  let onAsk: @Sendable () -> Void

  init(_ onAsk: @escaping @Sendable () -> Void) { self.onAsk = onAsk }

  func collect() -> [MetricFamily] {
    onAsk()
    return []
  }
}
