import TapCore

/// Numbers, times and names as a person reads them.
enum Words {
  /// Three digits in the largest unit that fits, such as `380 ms`.
  static func seconds(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    let units = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)]
    let (unit, factor) = units.first { value >= 0.9995 * $0.1 } ?? (value > 0 ? units[2] : units[1])
    return "\(number(value / factor)) \(unit)"
  }

  /// Three digits, or all of a greater number.
  static func number(_ value: Double) -> String {
    guard value.isFinite, value < 1e15 else { return "–" }
    if value >= 100 { return "\(Int(value.rounded()))" }
    let digits = value >= 9.995 ? 1 : 2
    let scale = digits == 1 ? 10 : 100
    let scaled = Int((max(0, value) * Double(scale)).rounded())
    let (whole, part) = scaled.quotientAndRemainder(dividingBy: scale)
    if part == 0 { return "\(whole)" }
    let text = String(part)
    let padded = String(repeating: "0", count: digits - text.count) + text
    return "\(whole).\(padded.hasSuffix("0") ? String(padded.dropLast()) : padded)"
  }

  /// A time in at most two units, without a fraction.
  static func age(_ seconds: Double) -> String {
    let all = Int(max(0, min(seconds, 1e12)))
    let (hours, minutes, rest) = (all / 3_600, all / 60 % 60, all % 60)
    let parts = hours > 0 ? [(hours, "h"), (minutes, "min")] : [(minutes, "min"), (rest, "s")]
    let words = parts.filter { $0.0 > 0 }.map { "\($0) \($1)" }
    return words.isEmpty ? "0 s" : words.joined(separator: " ")
  }

  static func count(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }

  /// The time of day in UTC, as in the log.
  static func time(_ time: Timestamp) -> String { String(time.utc.dropFirst(11).prefix(8)) }

  /// A client's name. An app need not give one.
  static func client(_ name: String) -> String { name.isEmpty ? "–" : "`\(name)`" }

  /// A status, such as `503 Service Unavailable`, or the type of an error with its words.
  static func failure(_ type: String) -> String {
    guard let words = failures[type] else { return type }
    return Int(type) == nil ? "\(type), \(words)" : "\(type) \(words)"
  }

  /// Where to look for the cause of a made request's failure, no further than the type tells. `nil` if it
  /// tells nothing, or has a status, which is the server's.
  static func suspects(_ type: String) -> String? { suspects[type] }

  private static let failures = [
    "timeout": "no complete response in time", "dns": "the host's name could not be resolved",
    "connect": "no connection could be made", "connection_lost": "the connection broke",
    "tls": "the TLS handshake failed, or the certificate was refused",
    "invalid_response": "the answer is no HTTP response",
    "too_many_redirects": "redirects without an end", "body": "a body could not be read or stored",
    "unsupported_url": "no loader takes the URL", "401": "Unauthorized", "403": "Forbidden",
    "404": "Not Found", "429": "Too Many Requests", "500": "Internal Server Error", "502": "Bad Gateway",
    "503": "Service Unavailable", "504": "Gateway Timeout",
  ]

  private static let suspects = [
    "dns": "the name, or the resolver", "connect": "the server, or the way to it",
    "connection_lost": "the server, or the way to it", "invalid_response": "the server, or a proxy before it",
    "too_many_redirects": "the server",
    "body": "this app, or the body's encoding", "unsupported_url": "this app",
  ]

  /// What a request waits for, and more about it.
  static func wait(_ wait: RequestWait?) -> (what: String, why: String) {
    switch wait {
    case .start:
      (
        "to be started",
        "URLSession has taken it and has not started it: something holds the queue of all sessions, such as a "
          + "delegate, a protocol class or a body stream that does not return."
      )
    case .queue:
      (
        "for a free connection",
        "Other requests of the session have all connections that one host gets."
      )
    case .resolve: ("for the host's address", "The look-up of the host's name has no answer.")
    case .connect:
      ("for a connection", "The server, or a proxy on the way to it, has not taken the connection.")
    case .tls:
      ("for the TLS handshake", "The connection is open, and the TLS handshake is not complete.")
    case .upload:
      ("for the server to take the body", "The server has not taken the whole body of the request.")
    case .response: ("for the response", "The head of the response has not come.")
    case .body: ("for the rest of the response", "The head has come, and the body is not complete.")
    case .credentials:
      (
        "for credentials",
        "The server wants credentials, and nobody gives them. Without a delegate that answers, Foundation before "
          + "Swift 6.3.2 waits for ever: cancel the request."
      )
    case .redirect:
      (
        "for an answer to a redirect",
        "The app has not answered the redirect, and Foundation waits for ever: cancel the request."
      )
    case .handler: ("for the app's handler", "The app has not responded.")
    case .request:
      (
        "for a request that the app makes",
        "The app has not responded, and a request that it makes meanwhile has not ended."
      )
    case .client: ("for its caller", "The response is being written.")
    case nil: ("for what is unknown", "It has not ended.")
    }
  }

  /// The words of failures and phases, for the page's script.
  static var json: JSON {
    let phases = RequestTimings.Phase.allCases.map { ($0.rawValue, phase($0)) } + [("unknown", noPhase)]
    func object(_ words: [(String, String)]) -> JSON { .object(words.map { ($0, .text($1)) }) }
    return .object([
      ("failures", object(failures.sorted { $0.key < $1.key })), ("phases", object(phases)),
    ])
  }

  static let noPhase = "in no phase, such as redirects, challenges, or a wait for what never came"

  static func phase(_ phase: RequestTimings.Phase) -> String {
    switch phase {
    case .queue: "the wait for a free connection of the session"
    case .resolve: "the look-up of the host's name"
    case .connect: "opening the connection"
    case .tls: "the TLS handshake"
    case .upload: "sending the body"
    case .processing: "the wait for the server's answer"
    case .response: "the wait and the response"
    case .transfer: "the response's body"
    case .local: "this process"
    }
  }

  /// What the app can do about a phase.
  static func remedy(_ phase: RequestTimings.Phase) -> String? {
    switch phase {
    case .queue:
      "allow more connections (httpMaximumConnectionsPerHost), or make fewer requests at once"
    case .connect, .tls: "make all requests with one session, which uses connections again"
    case .resolve: "look at the resolver, and make all requests with one session"
    case .local: "take load off this process"
    case .upload, .processing, .response, .transfer: nil
    }
  }
}

extension RequestKind {
  /// Such as `GET api.test/users/{id}`.
  var name: String {
    let place = server + path
    return place.isEmpty ? "\(method) without a route" : "\(method) \(place)"
  }

  /// Such as `requests of `payments` to GET api.test/users/{id}`, behind a number.
  func requests(_ count: Int) -> String {
    let requests = count == 1 ? "request" : "requests"
    return isMade ? "\(requests) of \(Words.client(client)) to \(name)" : "served \(requests) of \(name)"
  }
}
