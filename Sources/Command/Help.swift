enum Help {
  static let all = """
    Shows what URLSession does: metrics for Prometheus and one log line per request.

    session-tap demo [options]
        Simulates an app that serves requests and calls a server for them.
    session-tap probe URL... [options]
        Requests your URLs again and again.
    session-tap why [URL]
        Asks a running app what is wrong with its requests.
    session-tap black-box FILE [--json]
        Shows what was active when a process was killed, or is in one that does not answer.

    'session-tap help COMMAND' lists the options; 'session-tap --version' says which version this is.

    """

  static func text(of command: String) -> String? {
    ["demo": demo, "probe": probe, "why": why, "black-box": blackBox][command]
  }

  static let demo = """
    session-tap demo [options]

    Starts a small origin server on loopback and makes requests to it through observed URLSessions, as
    an app would that serves requests and calls others for them, until Ctrl-C or SIGTERM.
      --rate N            requests per second (default 20)
      --requests N        stop making requests after N, and go on serving
      --duration TIME     end after this time, such as 30s, 500ms or 2m
      --faults on|off     whether some requests fail, are slow or cancelled (default on)

    """ + common

  static let probe = """
    session-tap probe URL... [options]

    Requests each URL over and over through an observed URLSession, until Ctrl-C or SIGTERM.
      --every TIME        the pause between two rounds (default 5s)
      --count N           end after N rounds
      --timeout TIME      how long one request may take (default 10s, at least 1s)

    """ + common

  static let why = """
    session-tap why [URL] [options]

    Asks the endpoint of an app, and prints what is wrong, a line each, the worst first. URL is where it serves;
    by default the address that OTEL_EXPORTER_PROMETHEUS_HOST and OTEL_EXPORTER_PROMETHEUS_PORT set, or
    127.0.0.1:9464.
      --port PORT         ask at 127.0.0.1:PORT
      --json              print the answer as JSON
      --help              this text

    Exit codes: 0 all is well, 1 something is wrong, 64 bad usage, 69 there is no answer.

    """

  static let blackBox = """
    session-tap black-box FILE [--json]

    Shows the active requests of the process whose tap has this file (SESSION_TAP_BLACK_BOX), oldest first:
    at its last sign of life, if it has ended without a shutdown. It reads the file, and asks no process.
      --json              one line of JSON for each request, as the app's next start writes it into its log
      --help              this text

    Exit codes: 0 shown, 64 bad usage, 66 the file cannot be read or is no black box.

    """

  private static let common = """
      --port PORT         serve the metrics at 127.0.0.1:PORT (default 9464; 0 takes a free one)
      --log PATH          append the request log to a file ('-' is standard error; by default it is in
                          memory, for the page alone)
      --help              this text
    All other variables of the environment count as for an app, such as SESSION_TAP_BLACK_BOX; those of the
    endpoint and of the log do not.

    Exit codes: 0 ended as asked, 1 no request of the probe was answered with a status below 400,
    64 bad usage, 69 the address cannot be bound, 73 the log cannot be opened.

    """
}
