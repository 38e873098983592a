import Foundation
import Logging
import SessionTap
import TapLogging
import TapTesting
import Testing

@Suite struct LogHandlerTests {
  struct Mishap: Error {}

  private let tap: Tap

  init() throws { tap = try Tap.testing() }

  private func logger(_ provider: Logger.MetadataProvider? = nil) -> Logger {
    Logger(label: "app.jobs") { [tap] in TapLogHandler(label: $0, tap: tap, metadataProvider: provider) }
  }

  /// The lines so far, each as what JSON says it is.
  private func lines() throws -> [[String: any Sendable]] {
    let log = try #require(tap.requestLog)
    #expect(log.flush(within: .seconds(30)))
    return try String(decoding: log.recent(), as: UTF8.self).split(separator: "\n").map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
      return try #require(object as? [String: any Sendable])
    }
  }

  /// The only line, its fields as text.
  private func line() throws -> [String: String] {
    let lines = try lines()
    #expect(lines.count == 1)
    return try #require(lines.first).mapValues { "\($0)" }
  }

  @Test func `a line says what, where and who`() throws {
    logger().info("warmed", source: "Cache", file: "App/Cache.swift", function: "warm()", line: 42)
    let expected = [
      "event": "app", "severity": "INFO", "message": "warmed", "logger": "app.jobs", "source": "Cache",
      "code.file.path": "App/Cache.swift", "code.function.name": "warm()", "code.line.number": "42",
    ]
    #expect(try line().filter { expected.keys.contains($0.key) } == expected)
  }

  @Test(arguments: [
    (Logger.Level.trace, "TRACE", nil), (.debug, "DEBUG", nil), (.info, "INFO", nil),
    (.notice, "INFO", "notice"), (.warning, "WARN", nil), (.error, "ERROR", nil),
    (.critical, "ERROR", "critical"),
  ])
  func `levels become severities, none is lost`(level: Logger.Level, severity: String, name: String?) throws {
    var logger = logger()
    logger.logLevel = .trace
    logger.log(level: level, "m")
    let line = try line()
    #expect(line["severity"] == severity && line["level"] == name)
  }

  @Test func `what is below the logger's level is left out`() throws {
    var logger = logger()
    logger.debug("not by default")
    logger.logLevel = .error
    logger.warning("nor now")
    logger.error("this is")
    #expect(try line()["message"] == "this is")
  }

  @Test func `a copy of a logger shares neither level nor metadata`() {
    var first = logger()
    first.logLevel = .debug
    first[metadataKey: "only-on"] = "first"
    var second = first
    second.logLevel = .error
    second[metadataKey: "only-on"] = "second"
    #expect(first.logLevel == .debug && first[metadataKey: "only-on"] == "first")
    #expect(second.logLevel == .error && second[metadataKey: "only-on"] == "second")
    second[metadataKey: "only-on"] = nil
    #expect(second[metadataKey: "only-on"] == nil)
    #expect(first.handler.metadata == ["only-on": "first"])
  }

  /// Also that of a task's logger: SLG-0006 of swift-log.
  @Test func `the call's metadata counts more than the provider's, and that more than the logger's`() throws {
    var logger = logger(Logger.MetadataProvider { ["b": "provider", "c": "provider"] })
    for key in ["a", "b", "c"] { logger[metadataKey: key] = "logger" }
    withLogger(logger) { _ in
      withLogger(mergingMetadata: ["task": "1"]) { _ in Logger.current.info("m", metadata: ["c": "call"]) }
    }
    let line = try line()
    #expect(["a", "b", "c", "task"].map { line[$0] } == ["logger", "provider", "call", "1"])
  }

  @Test func `metadata is flattened, and numbers stay numbers`() throws {
    logger().info(
      "m",
      metadata: [
        "user": ["id": "7", "roles": ["a", "b"], "address": ["city": "Bern"]],
        "count": .stringConvertible(42), "ratio": .stringConvertible(0.5), "hot": .stringConvertible(true),
        "huge": .stringConvertible(UInt64.max), "id": .stringConvertible("x" as Character),
        "a": ["b": "nested"], "a.b": "given",
      ])
    let fields = try #require(try lines().first)
    let texts = [
      "user.id": "7", "user.roles": #"["a", "b"]"#, "user.address.city": "Bern",
      "huge": "18446744073709551615", "id": "x", "a.b": "given",
    ]
    #expect(texts.allSatisfy { fields[$0.key] as? String == $0.value }, "\(fields)")
    #expect(fields["count"] as? Int == 42 && fields["ratio"] as? Double == 0.5)
    #expect(fields["hot"] as? Bool == true)
  }

  @Test func `a key that the line has itself is kept under another name`() throws {
    logger().info("m", metadata: ["message": "mine", "severity": "LOUD", "source": "here", "logger": "me"])
    let line = try line()
    let values = ["message", "metadata.message", "metadata.severity", "metadata.source", "metadata.logger"]
      .map { line[$0] }
    #expect(values == ["m", "mine", "LOUD", "here", "me"] && line["dropped_attributes_count"] == nil)
  }

  @Test func `an error is in the line`() throws {
    logger().error("failed", error: Mishap())
    let line = try line()
    #expect(line["exception.message"] == "Mishap()")
    #expect(line["exception.type"]?.hasSuffix("LogHandlerTests.Mishap") == true)
  }

  private enum Sensitivity: Int64, Logger.MetadataValueAttributes.Attribute {
    case sensitive = 1
    case open = 2
  }

  /// SLG-0004 of swift-log.
  @Test func `a value with attributes is redacted wherever it is, unless the app shows it`() throws {
    let secret = Logger.MetadataValue.attributed("s3cret", attributes: [Sensitivity.sensitive])
    let open = Logger.MetadataValue.attributed("public", attributes: [Sensitivity.open])
    let interpolated: Logger.MetadataValue =
      "user \("s3cret", attributes: { $0[Sensitivity.self] = .sensitive })"
    for reveals in [
      nil,
      { @Sendable (attributes: Logger.MetadataValueAttributes) in attributes[Sensitivity.self] == .open },
    ] {
      var handler = TapLogHandler(label: "app", tap: tap, metadataProvider: .init { ["given": secret] })
      if let reveals { handler.reveals = reveals }
      handler[metadataKey: "own"] = secret
      Logger(label: "app") { _ in handler }.info(
        "m",
        metadata: [
          "call": secret, "nested": ["in": secret], "list": [secret, "x"], "text": interpolated, "open": open,
        ])
    }
    let lines = try lines()
    for line in lines {
      for key in ["given", "own", "call", "nested.in", "text"] {
        #expect(line[key] as? String == "REDACTED", "\(key)")
      }
      #expect(!"\(line)".contains("s3cret"))
    }
    #expect(lines.map { $0["open"] as? String } == ["REDACTED", "public"])
  }

  @Test func `hostile metadata gives one line that is valid`() throws {
    var deep = Logger.MetadataValue.string("bottom")
    for _ in 0..<200 { deep = ["deeper": deep] }
    let wide = Dictionary(
      uniqueKeysWithValues: (0..<1_000).map { ("k\($0)", Logger.MetadataValue.string("v")) })
    logger().info("\u{0}\n\u{2028}\"\\", metadata: ["deep": deep, "wide": .dictionary(wide), "": "empty"])
    #expect(try line()["message"] == "\u{0}\n\u{2028}\"\\")
  }

  @Test func `without a log nothing happens`() throws {
    var handler = TapLogHandler(label: "l", tap: try Tap.testing { $0.log = nil }, logLevel: .trace)
    handler.metadata = ["a": "b"]
    handler.log(
      event: LogEvent(level: .info, message: "m", metadata: nil, source: nil, file: "", function: "", line: 0)
    )
    #expect(handler.metadata == ["a": "b"])
  }

  @Test func `many loggers write at once`() async throws {
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask { [logger = logger()] in
          var logger = logger
          logger[metadataKey: "task"] = .stringConvertible(task)
          for _ in 0..<10 { logger.info("m") }
        }
      }
    }
    let tasks = try lines().compactMap { $0["task"] as? Int }
    #expect(tasks.sorted() == (0..<80).map { $0 / 10 })
  }
}
