import Foundation

/// The command of a command line.
enum Command {
  case demo(DemoOptions)
  case probe(ProbeOptions)
  /// Shows a text.
  case help(String)

  /// Parses the words after the program's name.
  init(parsing words: [String]) throws(UsageError) {
    let name = words.first ?? "help"
    let asksForHelp = words.dropFirst().contains { $0 == "--help" || $0 == "-h" }
    switch name {
    case "demo":
      self = asksForHelp ? .help(Self.demoHelp) : .demo(try DemoOptions(parsing: words.dropFirst()))
    case "probe":
      self = asksForHelp ? .help(Self.probeHelp) : .probe(try ProbeOptions(parsing: words.dropFirst()))
    case "help", "--help", "-h": self = .help(Self.help)
    default: throw UsageError("unknown command \(name)")
    }
  }

  static let help = """
    Shows what URLSession does: metrics for Prometheus and one log line per request.

    session-tap demo [options]
        Simulates an app that serves requests and calls a server for them.
    session-tap probe URL... [options]
        Requests your URLs again and again.

    'session-tap demo --help' and 'session-tap probe --help' list the options.

    """

  static let demoHelp = """
    session-tap demo [options]

    Starts a small origin server on loopback and makes requests to it through observed URLSessions, as
    an app would that serves requests and calls others for them, until Ctrl-C or SIGTERM.
      --rate N            requests per second (default \(DemoOptions.defaultRate))
      --requests N        stop making requests after N, and go on serving
      --duration TIME     end after this time, such as 30s, 500ms or 2m
      --faults on|off     whether some requests fail, are slow or cancelled (default on)

    """ + commonHelp

  static let probeHelp = """
    session-tap probe URL... [options]

    Requests each URL over and over through an observed URLSession, until Ctrl-C or SIGTERM.
      --every TIME        the pause between two rounds (default 5s)
      --count N           end after N rounds
      --timeout TIME      how long one request may take (default 10s, at least 1s)

    """ + commonHelp

  private static let commonHelp = """
      --port PORT         serve the metrics at 127.0.0.1:PORT (default 9464; 0 takes a free one)
      --log PATH          where the request log goes (default requests.jsonl; '-' is standard error,
                          'off' writes none)
      --help              this text

    Exit codes: 0 ended as asked, 64 bad usage, 69 the address is not to be had, 73 the log cannot
    be opened.

    """
}

/// The options that both commands share.
struct CommonOptions {
  var port = 9464
  var log = "requests.jsonl"

  static let names: Set<String> = ["--port", "--log"]

  /// Takes the option if it is one of these.
  mutating func take(_ name: String, _ value: String) throws(UsageError) -> Bool {
    switch name {
    case "--port": port = try OptionValue.integer(value, of: name, in: 0...65_535)
    case "--log":
      guard !value.isEmpty else { throw UsageError("--log needs a path, '-' or 'off'") }
      log = value
    default: return false
    }
    return true
  }
}

/// The options of `demo`.
struct DemoOptions {
  static let defaultRate = 20

  var common = CommonOptions()
  var rate = DemoOptions.defaultRate
  var requests: Int?
  var duration: Duration?
  var hasFaults = true

  init(parsing words: some Sequence<String>) throws(UsageError) {
    let arguments = try Arguments(
      words, names: CommonOptions.names.union(["--rate", "--requests", "--duration", "--faults"]))
    if let operand = arguments.operands.first { throw UsageError("demo takes no operand: '\(operand)'") }
    for (name, value) in arguments.options {
      if try common.take(name, value) { continue }
      switch name {
      case "--rate": rate = try OptionValue.integer(value, of: name, in: 1...2_000)
      case "--requests": requests = try OptionValue.integer(value, of: name, in: 0...1_000_000_000)
      case "--faults": hasFaults = try OptionValue.isOn(value, of: name)
      default: duration = try OptionValue.duration(value, of: name)
      }
    }
  }
}

/// The options of `probe`.
struct ProbeOptions {
  var common = CommonOptions()
  var urls: [URL] = []
  var every = Duration.seconds(5)
  var count: Int?
  var timeout = Duration.seconds(10)

  init(parsing words: some Sequence<String>) throws(UsageError) {
    let arguments = try Arguments(
      words, names: CommonOptions.names.union(["--every", "--count", "--timeout"]))
    for (name, value) in arguments.options {
      if try common.take(name, value) { continue }
      switch name {
      case "--every": every = try OptionValue.duration(value, of: name)
      case "--count": count = try OptionValue.integer(value, of: name, in: 1...1_000_000_000)
      default: timeout = try OptionValue.duration(value, of: name)
      }
    }
    for operand in arguments.operands {
      guard let url = URL(string: operand), url.scheme == "http" || url.scheme == "https",
        url.host?.isEmpty == false
      else { throw UsageError("probe takes http and https URLs, not '\(operand)'") }
      urls.append(url)
    }
    guard !urls.isEmpty else { throw UsageError("probe needs at least one URL") }
  }
}
