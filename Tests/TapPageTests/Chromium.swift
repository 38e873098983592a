import TestSupport

/// The one Chromium of the tests that run beside each other: to start it takes longer than most of them.
actor SharedChromium {
  static let shared = SharedChromium()

  private var users = 0
  private var chromium: Chromium?

  /// The Chromium that runs, or a new one.
  func enter() throws -> Chromium {
    let chromium = try self.chromium ?? Chromium()
    self.chromium = chromium
    users += 1
    return chromium
  }

  /// The last one ends it.
  func leave() async throws {
    users -= 1
    guard users == 0, let last = chromium else { return }
    chromium = nil
    try await last.close()
  }
}

/// A headless Chromium, driven by the DevTools protocol over pipes.
final class Chromium: Sendable {
  private struct Reply<Content: Decodable>: Decodable { let result: Content }

  let pipe: BrowserPipe
  private let folder: TemporaryFolder
  private let process: ChildProcess

  fileprivate init() throws {
    folder = try TemporaryFolder()
    pipe = try BrowserPipe(folder)
    // The browser takes commands from descriptor 3, and answers at 4. A window behind another one is drawn as
    // any other.
    process = try ChildProcess(
      Tool("sh").url,
      [
        "-c", "exec \"$0\" \"$@\" 3<\"\(pipe.input)\" 4>\"\(pipe.output)\"", "chromium", "--headless=new",
        "--no-sandbox", "--disable-gpu", "--disable-renderer-backgrounding",
        "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
        "--remote-debugging-pipe", "--user-data-dir=\(folder("profile"))",
      ])
  }

  /// Ends the browser, and removes its files.
  fileprivate func close() async throws {
    try await process.terminate()
    // Processes of its own end a little later, and write until then.
    try await Poll.until("removal of the browser's files") { folder.remove() ? () : nil }
  }

  struct Nothing: Decodable {}

  /// - Parameter session: That of a page; without one, the browser itself is asked.
  func call<Content: Decodable>(
    _ method: String, _ parameters: [String: any Sendable] = [:], session: String? = nil
  ) async throws -> Content {
    var message: [String: any Sendable] = ["method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    let reply = try await pipe.call(message)
    do {
      return try JSONDecoder().decode(Reply<Content>.self, from: reply).result
    } catch {
      throw Browser.Failure(description: "\(method): \(String(decoding: reply.prefix(500), as: UTF8.self))")
    }
  }
}

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
