import TapCore
import TapLog
import TestSupport
import Testing

@Suite(.needs(.thread))
struct RecentLinesTests {
  private func log(lines: Int = 5, bytes: Int = 1 << 20) throws -> RequestLog {
    var configuration = RequestLog.Configuration()
    configuration.recentLineLimit = lines
    configuration.recentByteLimit = bytes
    configuration.followerLimit = 2
    return try RequestLog(to: .custom(CollectingSink()), configuration: configuration)
  }

  private func messages(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).matches(of: /"message":"([^"]*)"/).map { String($0.1) }
  }

  @Test
  func `are not kept unless asked for`() throws {
    let log = try log(lines: 0)
    log.log(.info, "1")
    #expect(log.shutdown())
    #expect(log.recent().isEmpty)
    #expect(log.follow(onLines: {}) == nil)
  }

  @Test
  func `are the newest ones, oldest first`() throws {
    let log = try log()
    for index in 1...8 { log.log(.info, "\(index)") }
    #expect(log.flush())
    #expect(messages(log.recent()) == ["4", "5", "6", "7", "8"])
    #expect(messages(log.recent(LogQuery(limit: 2))) == ["7", "8"])
    #expect(log.recent(LogQuery(limit: -1)).isEmpty)
  }

  @Test
  func `are found by severity, client and time`() throws {
    let log = try log(lines: 100)
    log.log(.debug, "a", ["client": "x"])
    log.log(.error, "b", ["client": "y\"", "note": "\"client\":\"x\""])
    log.log(.info, "c", ["list": "a,\"client\":\"x\",b", "client": "x"])
    var request = RequestObservation.bare()
    request.request.client = "x"
    log.requestEnded(request)
    #expect(log.flush())
    #expect(messages(log.recent(LogQuery(severity: .info))) == ["b", "c"])
    #expect(messages(log.recent(LogQuery(client: "x"))) == ["a", "c"])
    #expect(messages(log.recent(LogQuery(client: "y\""))) == ["b"])
    #expect(log.recent(LogQuery(client: "x")).count { $0 == UInt8(ascii: "\n") } == 3)
    let later = Timestamp(nanosecondsSinceEpoch: Timestamp.now.nanosecondsSinceEpoch + 1_000_000_000)
    #expect(log.recent(LogQuery(since: later)).isEmpty)
    #expect(messages(log.recent(LogQuery(since: Timestamp(nanosecondsSinceEpoch: 1)))) == ["a", "b", "c"])
  }

  @Test
  func `are found by their trace, of requests of both directions and of the app's own`() throws {
    let log = try log(lines: 100)
    let trace = TraceContext.random()
    for (name, context) in [("mine", trace.child()), ("other", .random())] {
      var request = RequestObservation.bare()
      request.request.client = name
      request.request.traceContext = context
      log.requestEnded(request)
    }
    log.log(.info, "by hand", ["trace_id": .string(trace.traceID)])
    log.log(.info, "in a text", ["note": .string("\"trace_id\":\"\(trace.traceID)\"")])
    #expect(log.flush())
    let lines = log.recent(LogQuery(traceID: trace.traceID))
    #expect(lines.count { $0 == UInt8(ascii: "\n") } == 2)
    #expect(messages(lines) == ["by hand"])
    #expect(String(decoding: lines, as: UTF8.self).contains("\"client\":\"mine\""))
    #expect(log.recent(LogQuery(client: "other", traceID: trace.traceID)).isEmpty)
    #expect(log.recent(LogQuery(traceID: trace.spanID)).isEmpty)
  }

  @Test
  func `can be followed: what there is, then what comes, then the end`() async throws {
    let log = try log()
    log.log(.info, "1")
    #expect(log.flush())
    let lines = Gate()
    let following = log.follow(LogQuery(severity: .info)) { lines.open() }
    let follower = try #require(following)
    #expect(messages(try #require(follower.read())) == ["1"])
    #expect(follower.read() == [])
    log.log(.debug, "2")
    log.log(.info, "3")
    try await lines.wait("lines")
    #expect(messages(try #require(follower.read())) == ["3"])
    #expect(log.shutdown())
    #expect(follower.read() == nil)
    #expect(follower.end == .finished)
  }

  @Test
  func `do not retain a follower`() throws {
    let log = try log()
    for _ in 0..<10 { #expect(log.follow(onLines: {}) != nil) }
    let held = [log.follow(onLines: {}), log.follow(onLines: {})]
    #expect(held.allSatisfy { $0 != nil })
    #expect(log.follow(onLines: {}) == nil)
    withExtendedLifetime(held) {}
  }

  @Test
  func `end a follower that is too slow`() async throws {
    let log = try log(lines: 100, bytes: 32_768)
    let followers = [log.follow(onLines: {}), log.follow(onLines: {})].compactMap(\.self)
    let follower = try #require(followers.first)
    let other = try #require(followers.last)
    #expect(log.follow(onLines: {}) == nil)
    for index in 0..<1_000 { log.log(.info, "\(index)") }
    #expect(log.flush())
    #expect(follower.end == .tooSlow)
    #expect(follower.read() == nil)
    other.cancel()
    #expect(other.read() == nil)
    #expect(log.follow(onLines: {}) != nil)
  }
}
