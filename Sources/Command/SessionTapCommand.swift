import Foundation
import SessionTap

/// The entry of the command.
@main enum SessionTapCommand {
  static func main() async {
    // A reader of our output that goes away must not end the run.
    signal(SIGPIPE, SIG_IGN)
    // Without /proc, Swift's runtime has no arguments, not even the program's name. No arguments would print the help.
    guard !CommandLine.arguments.isEmpty else {
      Terminal.complain("the command line cannot be read (mount /proc)")
      exit(ExitCode.unavailable.rawValue)
    }
    exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }

  private static func run(_ words: [String]) async -> ExitCode {
    do {
      switch try Command(parsing: words) {
      case .help(let text):
        Terminal.say(text)
      case .demo(let options):
        try await demo(options)
      case .probe(let options):
        try await ObservedRun(options).run(atMost: nil, endsWithRequests: true) { tap in
          await ProbeRounds(tap: tap, options: options).run(every: options.every, count: options.count)
        }
      }
      return .success
    } catch let error as UsageError {
      Terminal.complain("\(error); see --help")
      return .usage
    } catch let error as TapError {
      Terminal.complain("\(error)")
      return error.code == .log ? .cannotCreate : .unavailable
    } catch {
      Terminal.complain("\(error)")
      return .unavailable
    }
  }

  private static func demo(_ options: Options) async throws {
    let run = try ObservedRun(options, templates: DemoOrigin.templates)
    let origin = try DemoOrigin()
    Terminal.say("origin   http://\(origin.address)/")
    if let url = URL(string: "http://\(origin.address)/") {
      await run.run(atMost: options.duration, endsWithRequests: false) { tap in
        await DemoTraffic(tap: tap, origin: url, hasFaults: options.hasFaults)
          .run(rate: options.rate, limit: options.requests)
      }
    }
    await origin.stop()
  }
}

/// The exit codes of the command, by `sysexits.h`.
enum ExitCode: Int32 {
  case success = 0
  /// `EX_USAGE`: the command line is wrong.
  case usage = 64
  /// `EX_UNAVAILABLE`: the address to serve at is taken, or not this machine's; or there is no /proc.
  case unavailable = 69
  /// `EX_CANTCREAT`: the log cannot be opened.
  case cannotCreate = 73
}
