import TestSupport

/// The two pipes of a browser: messages of JSON, each ended by a NUL.
final class BrowserPipe: Sendable {
  private struct State {
    var lastID = 0
    var waiting: [Int: Answer] = [:]
    var bytes: [UInt8] = []
    var events: [String] = []
  }

  private final class Answer: Sendable {
    let gate = Gate()
    let bytes = Mutex(Data())
  }

  let input: String
  let output: String
  /// Tests that share a browser write one message after the other: a long one is not written at once.
  private let inputDescriptor: Mutex<Int32>
  private let state = Mutex(State())

  init(_ folder: TemporaryFolder) throws {
    input = folder("commands")
    output = folder("answers")
    guard mkfifo(input, 0o600) == 0, mkfifo(output, 0o600) == 0 else {
      throw Browser.Failure(description: "mkfifo: \(errno)")
    }
    // Opened for both directions, a pipe does not wait for its other end.
    inputDescriptor = Mutex(Glibc.open(input, O_RDWR | O_CLOEXEC))
    Thread.detachNewThread { [weak self, output] in
      let descriptor = Glibc.open(output, O_RDONLY | O_CLOEXEC)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      // It ends with the browser.
      while case let n = Glibc.read(descriptor, &buffer, buffer.count), n > 0 { self?.take(buffer[..<n]) }
      close(descriptor)
    }
  }

  deinit { inputDescriptor.withLock { _ = close($0) } }

  /// What the browser has told unasked of one session.
  func events(of session: String) -> [String] { state.withLock { $0.events }.filter { $0.contains(session) } }

  func call(_ message: [String: any Sendable]) async throws -> Data {
    let answer = Answer()
    let id = state.withLock { state in
      state.lastID += 1
      state.waiting[state.lastID] = answer
      return state.lastID
    }
    let content = message.merging(["id": id]) { $1 }
    let bytes = [UInt8](try JSONSerialization.data(withJSONObject: content)) + [0]
    guard inputDescriptor.withLock({ Glibc.write($0, bytes, bytes.count) }) == bytes.count else {
      throw Browser.Failure(description: "write: \(errno)")
    }
    try await answer.gate.wait("answer of the browser")
    return answer.bytes.withLock { $0 }
  }

  private func take(_ bytes: ArraySlice<UInt8>) {
    struct Header: Decodable { let id: Int? }
    let messages = state.withLock { state in
      state.bytes += bytes
      let parts = state.bytes.split(separator: 0, omittingEmptySubsequences: false)
      state.bytes = parts.last.map(Array.init) ?? []
      return parts.dropLast().map { Data($0) }
    }
    for message in messages {
      let id = (try? JSONDecoder().decode(Header.self, from: message))?.id
      let answer = state.withLock { state in
        guard let id else {
          state.events.append(String(decoding: message, as: UTF8.self))
          return nil as Answer?
        }
        return state.waiting.removeValue(forKey: id)
      }
      answer?.bytes.withLock { $0 = message }
      answer?.gate.open()
    }
  }
}
