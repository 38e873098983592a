/// What a command line asks for.
enum Command: Equatable {
  case demo(DemoOptions)
  case probe(ProbeOptions)
  case help

  /// Parses the words behind the program's name.
  init(parsing words: [String]) throws(UsageError) {
    let name = words.first ?? "help"
    if words.dropFirst().contains(where: { $0 == "--help" || $0 == "-h" }) {
      self = .help
      return
    }
    switch name {
    case "demo": self = .demo(try DemoOptions(parsing: words.dropFirst()))
    case "probe": self = .probe(try ProbeOptions(parsing: words.dropFirst()))
    case "help", "--help", "-h": self = .help
    default: throw UsageError("unknown command \(name)")
    }
  }

  /// The text of `--help`.
  static let helpText = """
    Shows what URLSession does: metrics for Prometheus and one log line per request.

    session-tap demo [options]
        Starts a small origin server on loopback and makes requests to it through an observed
        URLSession, until Ctrl-C or SIGTERM.
      --rate N            requests per second (default \(DemoOptions.defaultRate))
      --requests N        stop making requests after N, and go on serving
      --duration TIME     end after this time, such as 30s, 500ms or 2m

    session-tap probe URL... [options]
        Requests each URL over and over through an observed URLSession.
      --every TIME        the pause between two rounds (default 5s)
      --count N           end after N rounds
      --timeout TIME      how long one request may take (default 10s, at least 1s)

    Both:
      --port PORT         serve the metrics at 127.0.0.1:PORT (default 9464; 0 takes a free one)
      --log PATH          where the request log goes (default requests.jsonl; '-' is standard error,
                          'off' writes none)
      --help              this text

    Exit codes: 0 ended as asked, 64 bad usage, 69 the address is not to be had, 73 the log cannot
    be opened.

    """
}
