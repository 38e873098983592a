import Foundation
import SessionTap

/// Asks the endpoint of an app what is wrong.
struct Why {
  /// The answer at `/why`.
  private struct Answer: Decodable {
    struct Finding: Decodable { let sentence: String, isWrong: Bool }

    let isWell: Bool
    let sentence: String
    let findings: [Finding]

    /// A line each, without what a terminal would obey: what is wrong or that nothing is, then the rest.
    var lines: [String] {
      let (wrong, notes) = (findings.filter(\.isWrong), findings.filter { !$0.isWrong })
      return
        ((isWell ? [sentence] : wrong.map(\.sentence))
        + (notes.isEmpty ? [] : ["Known, and no trouble now:"] + notes.map(\.sentence))).map(\.oneLine)
    }
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let url: URL

  /// - Parameter options: With the endpoint's address, or that of its `/why`, and a port of this machine.
  ///   Without either, the address that an app of this environment serves at.
  init(_ options: Options) throws {
    guard options.operands.count < 2 else { throw UsageError("why takes one URL") }
    let variables = ProcessInfo.processInfo.environment
    let port = try options.integer("--port", in: 1...65_535)
    let address =
      port.map { .loopback(port: $0) } ?? Tap.Configuration(environment: variables).endpoint?.address
    // An app that listens at every address of its machine is asked at that of this machine.
    let text =
      address?.description.replacing(/^(0\.0\.0\.0|\[::\]):/) { _ in "127.0.0.1:" } ?? "127.0.0.1:9464"
    let given = options.operands.first ?? "http://\(text)"
    guard let url = URL(string: given), url.scheme == "http" || url.scheme == "https",
      url.host?.isEmpty == false
    else { throw UsageError("why takes an http or https URL, not '\(given)'") }
    self.url = url.lastPathComponent == "why" ? url : url.appendingPathComponent("why")
  }

  /// Prints the answer. Returns whether all is well.
  func ask(asJSON: Bool) async throws -> Bool {
    let body = try await body()
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let answer = try? decoder.decode(Answer.self, from: body) else {
      throw Failure(description: "\(url.shown) is no endpoint of SessionTap")
    }
    if asJSON {
      Terminal.say(String(decoding: body, as: UTF8.self).trimmingCharacters(in: .newlines))
    } else {
      for line in answer.lines { Terminal.say(line) }
    }
    return answer.isWell
  }

  private func body() async throws -> Data {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 10
    var request = URLRequest(url: url)
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    if let user = url.user {
      let credentials = Data("\(user):\(url.password ?? "")".utf8).base64EncodedString()
      request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
    }
    let (made, session) = (request, URLSession(configuration: configuration))
    let (data, status, error) = await cancellableCall(cancelledAfter: .seconds(15)) { done in
      session.dataTask(with: made) { done(($0, ($1 as? HTTPURLResponse)?.statusCode, $2)) }
    }
    session.invalidateAndCancel()
    guard let status else {
      throw Failure(
        description: "\(url.shown) does not answer: \(error?.localizedDescription ?? "unknown"). "
          + "Does the app run, and serve there? It says `session-tap: metrics at` when it starts; "
          + "name another place with --port or a URL")
    }
    guard status == 200, let data else { throw Failure(description: "\(url.shown) answers \(status)") }
    return data
  }
}
