import TestSupport

/// The server of a program, which holds some requests until the program lets it answer.
final class ProgramOrigin: Sendable {
  struct Hold: Sendable {
    let arrived = Gate()
    let release = Gate()
  }

  private let holds = Watched<[ProgramName: Hold]>([:])
  private let origin: Origin
  private let closed: ClosedPort

  init() throws {
    closed = try ClosedPort()
    origin = try Origin(keepsRequests: false) { [holds] request in
      let name = request.path.split(separator: "/").first.map { String($0) } ?? ""
      let hold = holds.state[name]
      return hold.map { Self.steps(for: request, hold: $0) } ?? RandomRequest.steps(for: request)
    }
  }

  /// The port that a request goes to, if that is one of this server.
  func port(of target: ProgramRequest.Target) -> Int? {
    switch target {
    case .origin(.refused): closed.port
    case .origin, .held: origin.port
    case .endpoint, .schemeless: nil
    }
  }

  func hold(_ request: ProgramName) -> Hold {
    let hold = Hold()
    holds.change { $0[request] = hold }
    return hold
  }

  func stop() {
    for hold in holds.state.values { hold.release.open() }
    origin.stop()
  }

  private static func steps(for request: OriginRequest, hold: Hold) -> [OriginStep] {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    if request.method == "HEAD" { return [.signal(hold.arrived), .hold(hold.release), .text(head)] }
    return request.path.hasSuffix("halfway")
      ? [.text(head + "first"), .signal(hold.arrived), .hold(hold.release), .text("other")]
      : [.signal(hold.arrived), .hold(hold.release), .text(head + "firstother")]
  }
}
