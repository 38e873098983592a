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

/// A headless Chromium, driven by the DevTools protocol over two pipes: messages of JSON, each ended by a
/// NUL.
final class Chromium: Sendable {
  fileprivate struct State {
    var lastID = 0
    var bytes: [UInt8] = []
    var answers: [Int: String] = [:]
    var events: [String] = []
  }

  private let state = Watched(State())
  private let folder: TemporaryFolder
  private let process: ChildProcess
  /// Tests that share a browser write one message after the other: a long one is not written at once.
  private let commands: Mutex<Int32>

  fileprivate init() throws {
    folder = try TemporaryFolder()
    let (input, output) = (folder("commands"), folder("answers"))
    guard mkfifo(input, 0o600) == 0, mkfifo(output, 0o600) == 0 else { throw TestFailure("mkfifo: \(errno)") }
    // Opened for both directions, a pipe does not wait for its other end.
    commands = Mutex(open(input, O_RDWR | O_CLOEXEC))
    // The browser takes commands from descriptor 3, and answers at 4. A window behind another one is drawn as
    // any other.
    process = try ChildProcess(
      Tool("sh").url,
      [
        "-c", "exec \"$0\" \"$@\" 3<\"\(input)\" 4>\"\(output)\"", "chromium", "--headless=new",
        "--no-sandbox", "--disable-gpu", "--disable-renderer-backgrounding",
        "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
        "--remote-debugging-pipe", "--user-data-dir=\(folder("profile"))",
      ])
    Thread.detachNewThread { [state] in
      let descriptor = open(output, O_RDONLY | O_CLOEXEC)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      // It ends with the browser.
      while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
        state.change { $0.take(buffer[..<count]) }
      }
      Glibc.close(descriptor)
    }
  }

  deinit { commands.withLock { _ = Glibc.close($0) } }

  /// Ends the browser, and removes its files.
  fileprivate func close() async throws {
    try await process.terminate()
    // Processes of its own end a little later, and write until then.
    try await Poll.until("removal of the browser's files") { folder.remove() ? () : nil }
  }

  /// What the browser has told unasked of one session.
  func events(of session: String) -> [String] { state.state.events.filter { $0.contains(session) } }

  /// - Parameter session: That of a page; without one, the browser itself is asked.
  @discardableResult
  func call(
    _ method: String, _ parameters: [String: any Sendable] = [:], session: String? = nil
  ) async throws -> JSONMembers {
    var number = 0
    state.change { state in
      state.lastID += 1
      number = state.lastID
    }
    let id = number
    var message: [String: any Sendable] = ["id": id, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    let bytes = [UInt8](try JSONSerialization.data(withJSONObject: message)) + [0]
    guard commands.withLock({ write($0, bytes, bytes.count) }) == bytes.count else {
      throw TestFailure("write: \(errno)")
    }
    try await state.wait("answer of the browser") { $0.answers[id] != nil }
    var answer = ""
    state.change { answer = $0.answers.removeValue(forKey: id) ?? "" }
    guard let result = try jsonObject(answer)["result"] as? JSONMembers else {
      throw TestFailure("\(method): \(answer.prefix(500))")
    }
    return result
  }
}

extension Chromium.State {
  fileprivate mutating func take(_ part: ArraySlice<UInt8>) {
    bytes += part
    let messages = bytes.split(separator: 0, omittingEmptySubsequences: false)
    bytes = messages.last.map(Array.init) ?? []
    for message in messages.dropLast().map({ String(decoding: $0, as: UTF8.self) }) {
      if let id = message.prefixMatch(of: /\{"id":(\d+)/).flatMap({ Int($0.1) }) {
        answers[id] = message
      } else {
        events.append(message)
      }
    }
  }
}
