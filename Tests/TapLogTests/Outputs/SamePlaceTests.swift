import TapLog
import TestSupport

/// Places that lead to one file, and the newest lines, which none of them may keep from a reader.
@Suite(.needs(.thread)) struct SamePlaceTests {
  @Test func `a file that is named in several ways gets each line once`() throws {
    let folder = try TemporaryFolder()
    for name in ["sub", "other"] { try folder.makeFolder(name) }
    try folder.link("link.jsonl", to: "sub/a.jsonl")
    try folder.link("links", to: "sub")
    let paths = [
      "sub/a.jsonl", "./sub/a.jsonl", "sub//a.jsonl", "other/../sub/a.jsonl", "links/a.jsonl", "link.jsonl",
    ].map { folder($0) }
    let log = try RequestLog(to: .init(paths.map { .file($0) } + [.file(folder("other/a.jsonl"))]))
    log.log(.info, "one")
    #expect(try OpenDescriptors.on(folder("sub/a.jsonl")).count == 1)
    #expect(log.shutdown())
    #expect(try folder.lines("sub/a.jsonl").count == 1 && folder.lines("other/a.jsonl").count == 1)
    #expect(log.statistics.lines == 2)
  }

  @Test func `a pipe that is named twice gets each line once, by a descriptor too`() throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.fifo")
    #expect(mkfifo(path, 0o600) == 0)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    let writer = open(path, O_WRONLY | O_NONBLOCK)
    defer { for descriptor in [reader, writer] { close(descriptor) } }
    let log = try RequestLog(to: [.file(path), .descriptor(writer), .file(folder("./requests.fifo"))])
    log.log(.info, "one")
    #expect(log.shutdown())
    #expect(log.statistics.lines == 1)
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(reader, &bytes, bytes.count)
    #expect(bytes.prefix(max(0, count)).count { $0 == UInt8(ascii: "\n") } == 1)
  }

  @Test func `a line that a killed process left is ended by the first that opens its file`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("torn", to: "requests.jsonl")
    for _ in 0..<2 { #expect(try RequestLog(to: .file(path)).shutdown()) }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "torn\n")
  }

  @Test func `the newest lines are there while every place hangs`() async throws {
    let (first, second) = (CollectingSink(isStuck: true), CollectingSink(isStuck: true))
    let places: RequestLog.Destination = [.custom(first), .custom(second)]
    let log = try RequestLog(
      to: places, configuration: with(.init()) { ($0.recentLineLimit, $0.queueLineLimit) = (3, 2) })
    log.log(.info, "0")
    log.batchEnded()
    for sink in [first, second] { try await sink.entered.wait("the write that hangs") }
    // More than the queues take.
    for number in 1...9 { log.log(.info, "\(number)") }
    let messages = String(decoding: log.recent(), as: UTF8.self).matches(of: /"message":"(\d)"/).map(\.1)
    #expect(messages == ["7", "8", "9"])
    for sink in [first, second] { sink.gate.open() }
    #expect(log.shutdown())
  }
}
