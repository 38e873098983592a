import TapURLSession
import TestSupport

struct Scenario: Sendable, CustomTestStringConvertible {
  /// The points of a request that a script and a test share.
  struct Gates: Sendable {
    /// The server has come to the point where the test acts.
    let arrived = Gate()
    /// The test has acted: the server may go on.
    let goOn = Gate()
  }

  /// What a server makes of the number of requests that it has seen before, and of this one.
  typealias Script = @Sendable (_ earlier: Int, _ request: OriginRequest, Gates) -> [OriginStep]

  var name: String
  /// How the tap records the request.
  var end: RequestEnd
  /// The status of a head that arrives before a failure.
  var headStatus: Int?
  /// Overrides the method that suits the kind of task.
  var method: String?
  /// What the server sends before it reads a request.
  var greeting: [OriginStep] = []
  /// `nil` for a port without a listener.
  var script: Script?
  var url: (@Sendable (_ port: Int) -> String)?
  var configure: @Sendable (URLSessionConfiguration, _ port: Int) -> Void = { _, _ in }
  var behaviour = TranscriptDelegate.Behaviour()
  var interruption = Interruption.none
  var waitsForData = false
  var waitsForChallenge = false
  var asksForCredentials = false
  /// The session's cache answers, and not the server.
  var isFromCache = false
  /// The size of the response's content, where that is not what the app gets: it is coded.
  var contentSize: Int?
  /// Which kinds and styles the scenario makes sense for.
  var applies: @Sendable (Kind, Style) -> Bool = { _, _ in true }

  var testDescription: String { name }

  /// Whether libcurl is of this version or of a later one.
  static func isCurl(_ version: String) -> Bool {
    (CurlInfo.version ?? "").compare("libcurl/" + version, options: .numeric) != .orderedAscending
  }
}

extension Scenario {
  /// A server that answers every request with these steps.
  init(_ name: String, end: RequestEnd = answered, _ steps: OriginStep...) {
    self.init(name: name, end: end) { _, _, _ in steps }
  }
}

extension MatrixTests.Case {
  /// How the tap records the request. The head of a response that fails later passes the tap only on its way
  /// to a delegate of a data or upload task.
  var expectedEnd: RequestEnd {
    guard case .failure(let type, _) = scenario.end, kind != .download, style.hasDelegate else {
      return scenario.end
    }
    return .failure(type, statusCode: scenario.headStatus)
  }

  /// An end without the status of a failure, where its info is read: libcurl takes it from the status line,
  /// be the head whole or not.
  func comparable(_ end: RequestEnd) -> RequestEnd {
    guard hasInfo, case .failure(let type, _) = end else { return end }
    return .failure(type, statusCode: nil)
  }
}
