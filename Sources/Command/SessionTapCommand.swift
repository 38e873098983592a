import Foundation
import SessionTap

@main enum SessionTapCommand {
  static func main() async {
    // A reader of our output that goes away must not end the run.
    signal(SIGPIPE, SIG_IGN)
    // Without /proc, Swift's runtime has no arguments, not even the program's name. No arguments would print the help.
    guard !CommandLine.arguments.isEmpty else {
      Terminal.complain("the command line cannot be read (mount /proc)")
      exit(EX_UNAVAILABLE)
    }
    exit(await run(Array(CommandLine.arguments.dropFirst())))
  }

  /// - Returns: The exit code, by `sysexits.h`.
  private static func run(_ words: [String]) async -> Int32 {
    do {
      switch try Command(parsing: words) {
      case .help(let text):
        Terminal.say(text)
      case .demo(let options):
        try await demo(options)
      case .probe(let options):
        try await ObservedRun(options).run(atMost: nil, endsWithRequests: true) {
          await options.probe(with: $0)
        }
      }
      return EX_OK
    } catch let error as UsageError {
      Terminal.complain("\(error); see --help")
      return EX_USAGE
    } catch let error as TapError {
      Terminal.complain("\(error)")
      return error.code == .log ? EX_CANTCREAT : EX_UNAVAILABLE
    } catch {
      Terminal.complain("\(error)")
      return EX_UNAVAILABLE
    }
  }

  private static func demo(_ options: Options) async throws {
    let run = try ObservedRun(options, templates: DemoOrigin.templates)
    let origin = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: DemoOrigin.routes)
    let text = "http://\(try origin.start())/"
    Terminal.say("origin   \(text)")
    if let url = URL(string: text) {
      await run.run(atMost: options.duration, endsWithRequests: false) { tap in
        await DemoTraffic(tap: tap, origin: url, hasFaults: options.hasFaults)
          .run(rate: options.rate, limit: options.requests)
      }
    }
    await origin.shutdown(within: .zero)
  }
}

extension Options {
  /// Requests the URLs in rounds, until the task is cancelled or there were so many.
  func probe(with tap: Tap) async {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = timeout / .seconds(1)
    configuration.urlCache = nil
    let session = tap.session(client: "probe", configuration: configuration)
    let start = ContinuousClock.now
    var made = 0
    while made < count ?? .max, !Task.isCancelled {
      await withDiscardingTaskGroup { group in
        for url in urls {
          group.addTask {
            await cancellableCall { done in session.dataTask(with: url) { _, _, _ in done(()) } }
          }
        }
      }
      made += 1
      if made == count { break }
      // A round that took longer than the pause is followed by the next one at once.
      if (try? await Task.sleep(until: start + every * made)) == nil { break }
    }
    session.finishTasksAndInvalidate()
  }
}
