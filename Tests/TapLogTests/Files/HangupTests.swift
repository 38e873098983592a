import Synchronization
import TestSupport
import Testing

@testable import TapLog

#if canImport(Glibc)
  import Glibc
#endif

@Suite("SIGHUP", .timeLimit(.minutes(2)))
struct HangupTests {
  /// How often the app's own handler was called.
  private static let calls = Atomic<Int>(0)

  @Test("makes the log open its file anew, and still calls the handler of before")
  func reopens() async throws {
    let folder = try TemporaryFolder()
    _ = Self.calls.load(ordering: .relaxed)
    signal(SIGHUP) { _ in HangupTests.calls.wrappingAdd(1, ordering: .relaxed) }
    var options = FileOptions(path: folder("requests.jsonl"))
    options.reopensOnHangup = true
    let output = try FileOutput(options)
    var batch = LineBuffer(byteLimit: 100, lineLimit: 1)
    for isHangup in [false, true] {
      // A mark on what is open, which an open file does not have.
      let descriptor = try #require(OpenDescriptors.of(folder("requests.jsonl")).first)
      #expect(fcntl(descriptor, F_SETFL, O_APPEND) == 0)
      if isHangup {
        kill(getpid(), SIGHUP)
        _ = try await Poll.until("the signal") { Self.calls.load(ordering: .relaxed) == 1 ? true : nil }
      }
      #expect(Array("line\n".utf8).withUnsafeBytes { batch.append($0, severity: .info) })
      #expect(output.write(&batch).bytes == 5)
      let next = try #require(OpenDescriptors.of(folder("requests.jsonl")).first)
      #expect((fcntl(next, F_GETFL) & O_NONBLOCK != 0) == isHangup)
    }
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["line", "line"])
  }
}
