import TapLog
import TestSupport

/// Random observations and lines of the app's own, hostile in every part, to standard output.
struct Fuzz {
  let lines: Int
  private var random: SeededGenerator

  init(lines: Int, seed: UInt64) {
    self.lines = lines
    random = SeededGenerator(seed: seed)
  }

  func run() throws {
    var generator = self
    var configuration = RequestLog.Configuration()
    configuration.fields = ["service.name": "fuzz\u{2028}\"", "zone": 1]
    configuration.redaction.allowedQueryKeys = ["k"]
    configuration.redaction.allowedRequestHeaders = ["a", "b\"\n"]
    configuration.redaction.allowedResponseHeaders = ["c"]
    let log = try RequestLog(to: .descriptor(1), configuration: configuration)
    for index in 0..<lines {
      if index % 1_024 == 0 { log.flush(within: .seconds(60)) }
      switch index % 16 {
      case 0, 8: log.log(generator.pick(LogSeverity.allCases) ?? .info, generator.text(), generator.fields())
      case 2, 10: log.requestEnded(generator.inbound())
      // As one that waits, of which a minute has few lines.
      case 1:
        log.requestIsUnfinished(
          RequestSnapshot(generator.observation().request, for: generator.duration()))
      default: log.requestEnded(generator.observation())
      }
    }
    log.shutdown(within: .seconds(60))
  }

  private mutating func observation() -> RequestObservation {
    let request = RequestDescription(
      client: text(), method: pick(["GET", "POST", "QUERY", text()]) ?? "", url: url(),
      serverAddress: optional { $0.text() }, serverPort: optional { Int(truncatingIfNeeded: $0.number()) },
      urlTemplate: optional { $0.text() },
      traceContext: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
      fields: fields(), headers: ["A": text(), "a": text(), "B\"\n": text()])
    var observation = RequestObservation(
      request: request, start: Timestamp(nanosecondsSinceEpoch: number()), duration: duration(),
      end: end(), requestBodySize: optional { $0.number() }, responseBodySize: optional { $0.number() })
    observation.timeToFirstByte = optional { $0.duration() }
    observation.timings = timings()
    observation.cutOffPhase = optional { $0.pick(RequestTimings.Phase.allCases) } ?? nil
    observation.networkRoundTrip = optional { $0.duration() }
    observation.retransmittedSegments = optional { Int(truncatingIfNeeded: $0.number()) }
    observation.resendCount = optional { Int(truncatingIfNeeded: $0.number()) }
    observation.isFromCache = random.next() & 1 == 0
    observation.responseHeaders = ["C": text()]
    return observation
  }

  private mutating func timings() -> RequestTimings {
    var timings = RequestTimings()
    for phase in RequestTimings.Phase.allCases { timings[phase] = optional { $0.duration() } }
    return timings
  }

  private mutating func inbound() -> RequestObservation {
    RequestObservation(
      request: RequestDescription(
        direction: .inbound, method: pick(["GET", "POST", "QUERY", text()]) ?? "",
        url: pick([url(), "/" + url(), text()]) ?? "", urlTemplate: optional { $0.text() },
        scheme: optional { $0.text() }, clientAddress: optional { $0.text() }, traceContext: .random(),
        fields: fields()),
      start: Timestamp(nanosecondsSinceEpoch: number()), duration: duration(), end: end(),
      requestBodySize: optional { $0.number() }, responseBodySize: optional { $0.number() })
  }

  private mutating func end() -> RequestEnd {
    let ends: [RequestEnd] = [
      .response(statusCode: Int(random.next() % 700)), .response(statusCode: nil),
      .response(statusCode: Int(truncatingIfNeeded: number())), .cancelled,
      .failure(
        pick(RequestErrorType.allCases) ?? .other, statusCode: optional { Int($0.random.next() % 700) }),
    ]
    return pick(ends) ?? .cancelled
  }

  private mutating func duration() -> Duration {
    Duration(secondsComponent: number(), attosecondsComponent: number() / 10)
  }

  private mutating func fields() -> [String: FieldValue] {
    var fields: [String: FieldValue] = [:]
    for _ in 0..<random.next() % 4 {
      let values: [FieldValue] = [
        .string(text()), .integer(number()), .double(Double(bitPattern: random.next())), .boolean(true),
      ]
      fields[pick(["zone", "client.name", "client", "severity", text(), text()]) ?? ""] = pick(values)
    }
    return fields
  }

  private mutating func url() -> String {
    var url = ""
    for _ in 0..<random.next() % 12 {
      url +=
        pick(["https:", "//", "/", "?", "#", "@", ":", "&", ";", "=", "k=", "[", "]", "a", text()]) ?? ""
    }
    return url
  }

  /// Bytes of all kinds, as a `String` takes them in, mostly few and at times very many.
  private mutating func text() -> String {
    let length = random.next().isMultiple(of: 64) ? random.next() % 20_000 : random.next() % 24
    let pieces: [[UInt8]] = [
      [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9], [0xC2, 0x85], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x8E, 0x88],
      [0x7F], Array("\"\\\n\r\t\u{0}".utf8), [0xEF, 0xBF, 0xBE], [0xCC, 0x81],
    ]
    var bytes: [UInt8] = []
    while bytes.count < length {
      if random.next().isMultiple(of: 4) {
        bytes += pick(pieces) ?? []
      } else {
        bytes.append(UInt8(truncatingIfNeeded: random.next()) & (random.next() & 1 == 0 ? 0x7F : 0xFF))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func number() -> Int64 {
    let value = Int64(truncatingIfNeeded: random.next())
    return pick([0, 1, -1, .min, .max, value, value >> 32, value >> 48]) ?? 0
  }

  mutating func optional<T>(_ make: (inout Fuzz) -> T) -> T? { random.next() & 1 == 0 ? nil : make(&self) }

  private mutating func pick<T>(_ values: [T]) -> T? { values.randomElement(using: &random) }
}
