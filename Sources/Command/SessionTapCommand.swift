import Foundation
import SessionTap
import Synchronization

@main enum SessionTapCommand {
  static func main() async {
    // A reader of the output that leaves must not end the run.
    signal(SIGPIPE, SIG_IGN)
    // Without /proc, Swift's runtime has no arguments, not even the program's name. No arguments would print
    // the help.
    guard !CommandLine.arguments.isEmpty else {
      Terminal.complain("the command line cannot be read (mount /proc)")
      exit(EX_UNAVAILABLE)
    }
    exit(await run(CommandLine.arguments.dropFirst()))
  }

  /// - Returns: The exit code, by `sysexits.h`.
  private static func run(_ words: ArraySlice<String>) async -> Int32 {
    let (command, rest) = (words.first ?? "help", words.dropFirst())
    if rest.contains("--help") || rest.contains("-h"), let text = Help.text(of: command) {
      Terminal.say(text)
      return EX_OK
    }
    do {
      switch command {
      case "--version", "version": Terminal.say("session-tap \(BuildInfo.version)")
      case "help", "--help", "-h":
        guard let topic = rest.first else {
          Terminal.say(Help.all)
          break
        }
        guard let text = Help.text(of: topic) else { throw UsageError("unknown command \(topic)") }
        Terminal.say(text)
      case "why":
        let options = try Options(rest, names: ["--port"], flags: ["--json"])
        return try await Why(options).ask(asJSON: options.has("--json")) ? EX_OK : EXIT_FAILURE
      case "demo":
        let names = Options.common.union(["--rate", "--requests", "--duration", "--faults"])
        try await demo(Options(rest, names: names))
      case "probe":
        let names = Options.common.union(["--every", "--count", "--timeout"])
        return try await probe(Options(rest, names: names)) ? EX_OK : EXIT_FAILURE
      case "black-box":
        let options = try Options(rest, names: [], flags: ["--json"])
        try BlackBoxReport(options).print(asJSON: options.has("--json"))
      case let name: throw UsageError("unknown command \(name)")
      }
      return EX_OK
    } catch let error as UsageError {
      let topic = Help.text(of: command) == nil ? "" : " \(command)"
      Terminal.complain("\(error); see 'session-tap help\(topic)'")
      return EX_USAGE
    } catch let error as BlackBoxError {
      Terminal.complain("\(rest.first { !$0.hasPrefix("-") } ?? ""): \(error)")
      return EX_NOINPUT
    } catch {
      Terminal.complain("\(error)")
      return (error as? TapError)?.code == .log ? EX_CANTCREAT : EX_UNAVAILABLE
    }
  }

  private static func demo(_ options: Options) async throws {
    if let operand = options.operands.first { throw UsageError("demo takes no operand: '\(operand)'") }
    let faults = try options.text("--faults") ?? "on"
    guard ["on", "off"].contains(faults) else {
      throw UsageError("--faults takes on or off, not '\(faults)'")
    }
    let rate = try options.integer("--rate", in: 1...2_000) ?? 20
    let limit = try options.integer("--requests", in: 0...1_000_000_000)
    let duration = try options.duration("--duration")
    let run = try ObservedRun(options, templates: DemoOrigin.templates)
    let origin = try DemoOrigin.start()
    await run.run(atMost: duration, endsWithRequests: false) { tap in
      Terminal.say("origin   \(origin)")
      await Demo(tap: tap, origin: origin, hasFaults: faults == "on").run(rate: rate, limit: limit)
    }
  }

  /// Requests the URLs in rounds, until the task is cancelled or the rounds are done.
  ///
  /// - Returns: `false` if no request was answered with a status below 400.
  private static func probe(_ options: Options) async throws -> Bool {
    let urls = try options.operands.map { operand in
      guard let url = URL(string: operand), url.scheme == "http" || url.scheme == "https",
        url.host?.isEmpty == false
      else { throw UsageError("probe takes http and https URLs, not '\(operand)'") }
      return url
    }
    guard !urls.isEmpty else { throw UsageError("probe needs at least one URL") }
    let pause = try options.duration("--every") ?? .seconds(5)
    let count = try options.integer("--count", in: 1...1_000_000_000) ?? .max
    let configuration = URLSessionConfiguration.ephemeral
    let timeout = try options.duration("--timeout") ?? .seconds(10)
    configuration.timeoutIntervalForRequest = timeout / .seconds(1)
    configuration.urlCache = nil
    let run = try ObservedRun(options)
    return await !run.run(atMost: nil, endsWithRequests: true) { tap in
      let session = tap.session(client: "probe", configuration: configuration)
      let start = ContinuousClock.now
      var made = 0
      while !Task.isCancelled {
        await withDiscardingTaskGroup { group in
          for url in urls {
            group.addTask {
              // Foundation's own time-out begins anew with each piece of a body, and ends no request that
              // waits for credentials. Where it ends a request, it goes first: it names the failure.
              let error = await cancellableCall(cancelledAfter: timeout + .milliseconds(500)) { done in
                session.dataTask(with: url) { done($2) }
              }
              if !Task.isCancelled, (error as? URLError)?.code == .cancelled {
                run.noteTimeout(of: url, after: timeout)
              }
            }
          }
        }
        made += 1
        // A round that took longer than the pause is followed by the next one at once.
        if made == count { break }
        if (try? await Task.sleep(until: start + pause * made)) == nil { break }
      }
      session.finishTasksAndInvalidate()
    }
  }
}

extension URL {
  /// Without what may be secret.
  var shown: String {
    var shown = URLComponents()
    (shown.scheme, shown.host, shown.port, shown.path) = (scheme, host, port, path)
    return shown.string ?? "the URL"
  }
}

/// The standard streams of the command. SIGPIPE is ignored: a closed stream does not end the command.
enum Terminal {
  static func say(_ line: String) { emit(line, to: STDOUT_FILENO) }

  static func complain(_ line: String) { emit("session-tap: " + line, to: STDERR_FILENO) }

  private static func emit(_ line: String, to descriptor: Int32) {
    try? FileHandle(fileDescriptor: descriptor).write(contentsOf: Data((line + "\n").utf8))
  }
}

/// Starts a session's task, which completes by calling what `make` is given, and waits for it. It ends soon
/// after a cancel: that of the Swift task, or the one after the delay.
///
/// `Task.cancel()` around `session.data(for:)` can block for ever when it meets the end of the request, and
/// with it all sessions of the process (swift-corelibs-foundation #5412). So this cancels the session's task.
func cancellableCall<Answer: Sendable>(
  cancelledAfter delay: Duration? = nil,
  _ make: @escaping (@escaping @Sendable (Answer) -> Void) -> URLSessionTask
) async -> Answer {
  let started = Mutex<URLSessionTask?>(nil)
  // On another thread: `URLSessionTask.cancel()` waits for Foundation's queue, and the caller that cancels a
  // Swift task has its lock.
  @Sendable func cancel(after delay: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay / .seconds(1)) {
      started.withLock { $0 }?.cancel()
    }
  }
  return await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      let task = make { answer in
        // A cancel that comes later finds nothing, and keeps nothing until then.
        started.withLock { $0 = nil }
        continuation.resume(returning: answer)
      }
      started.withLock { $0 = task }
      task.resume()
      if let delay { cancel(after: delay) }
      // The Swift task may have been cancelled before there was a task to cancel.
      if Task.isCancelled { cancel(after: .zero) }
    }
  } onCancel: {
    cancel(after: .zero)
  }
}
