import TestSupport

@testable import TapCore

struct SystemTests {
  @Test func `a line on standard error is cut to what a pipe takes as one piece`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      StandardError.write(line: String(repeating: "x", count: 10_000))
    }
    let lines = try #require(result).standardErrorContent.split(separator: UInt8(ascii: "\n"))
    // With its end 4,096 bytes (POSIX, `PIPE_BUF` on Linux).
    #expect(lines.map(\.count).max() == 4_095)
  }

  @Test func `a file is read whole up to the limit, and refused beyond it`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    #expect(try System.contents(ofPath: path, limit: 5) == Array("12345".utf8))
    #expect(throws: System.Failure(code: EFBIG)) { try System.contents(ofPath: path, limit: 4) }
  }
}
