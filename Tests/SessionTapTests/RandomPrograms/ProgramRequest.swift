import TestSupport

struct ProgramRequest: Sendable {
  typealias Kind = RandomRequest.Kind
  typealias Style = RandomRequest.Style
  enum Cancel { case never, beforeResume, atOnce }

  enum Target: Sendable, Hashable {
    /// The program's server, which answers so.
    case origin(RandomRequest.Answer)
    /// The program's server, which answers when the program says so. It has sent half of the body by then, or
    /// nothing.
    case held(halfway: Bool)
    case endpoint(of: ProgramName)
    /// No server: the URL has no scheme.
    case schemeless
  }

  let name: ProgramName
  let session: ProgramName
  let kind: Kind
  let style: Style
  let target: Target
  let cancel: Cancel
  let method: String

  /// Whether a cancel after the start would be one that stock Foundation survives: only what would never end
  /// by itself is cancelled.
  var canCancel: Bool {
    guard RandomRequest.canCancel(kind, style) else { return false }
    return switch target {
    case .held, .origin(.hanging): true
    case .origin, .endpoint, .schemeless: false
    }
  }

  /// Whether the request comes to an end in stock Foundation too. Besides cancels this leaves out
  /// - an upload of a file to a server that does not read it: it fails while the file is being read, as it
  ///   does for a cancel;
  /// - `suspend` and `resume`, which bring the first bytes of a body twice;
  /// - challenges, which do not end without an answer;
  /// - responses with trailers or an absurd length (`NativeProtocol.swift`).
  var isSafe: Bool {
    guard cancel == .never || canCancel else { return false }
    return switch target {
    case .origin(.hanging): cancel != .never
    case .origin(let answer): RandomRequest.isSafe(answer, kind)
    case .endpoint: !kind.sendsBody
    case .held, .schemeless: true
    }
  }

  /// Where the request goes: its name is part of every path, so that a log line tells which it was.
  var location: String {
    switch target {
    case .origin(let answer): "/\(name)/\(answer.rawValue)"
    case .held(let halfway): "/\(name)/\(halfway ? "halfway" : "held")"
    case .endpoint: "/\(name)/metrics"
    case .schemeless: "no-scheme/\(name)"
    }
  }

  /// Whether the server waits for the program.
  var isHeld: Bool { if case .held = target { true } else { false } }

  /// - Parameter port: Of the server, where there is one.
  func urlRequest(port: Int?) -> URLRequest {
    let url = URL(string: port.map { "http://127.0.0.1:\($0)\(location)" } ?? location)
    return with(URLRequest(url: url ?? URL(fileURLWithPath: "/"))) { $0.httpMethod = method }
  }
}
