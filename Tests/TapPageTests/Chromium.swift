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

  func command(
    _ method: String, _ parameters: [String: any Sendable] = [:], session: String? = nil
  ) async throws {
    struct Nothing: Decodable {}
    let _: Nothing = try await call(method, parameters, session: session)
  }

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
