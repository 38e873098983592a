import Foundation
import TapCore

/// A Pushgateway, and the group under which it keeps the metrics.
public struct PushGateway: Sendable {
  /// The URL of the group, without credentials: `http://gateway:9091/metrics/job/backup`.
  let url: URL
  /// The value of the Authorization field, if the URL that was given has userinfo.
  let authorization: String?
  /// The gateway in errors: `gateway:9091`.
  let authority: String

  /// Names a gateway and a group.
  ///
  /// - Parameters:
  ///   - url: `http://HOST[:PORT][/PATH]` or `https`; userinfo in it is sent as basic authentication.
  ///   - job: the `job` label of everything in the group.
  ///   - grouping: further labels of the group, such as `instance`. Jobs that push under the same labels
  ///     replace each other's metrics.
  /// - Throws: ``TapError`` with the code ``TapError/Code/push`` if the URL or the name of a label is
  ///   invalid. The error does not repeat the URL, which may have credentials.
  public init(_ url: String, job: String, grouping: [String: String] = [:]) throws(TapError) {
    guard var parts = URLComponents(string: url, encodingInvalidCharacters: false),
      let scheme = parts.scheme?.lowercased(), let port = ["http": 80, "https": 443][scheme],
      let host = parts.host, HostText.parse(host) != nil,
      (1...65_535).contains(parts.port ?? port), parts.query == nil, parts.fragment == nil
    else { throw TapError(.push, "not the URL of a gateway: take http://HOST[:PORT][/PATH], or https") }
    guard !job.isEmpty else { throw TapError(.push, "the job has no name") }
    authority = "\(host):\(parts.port ?? port)"
    authorization = parts.user.map { user in
      "Basic " + Data("\(user):\(parts.password ?? "")".utf8).base64EncodedString()
    }
    (parts.user, parts.password) = (nil, nil)
    // Foundation's loader on Linux knows the scheme in lower case alone.
    parts.scheme = scheme
    var path = parts.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    path += "/metrics" + Self.segments("job", job)
    for (name, value) in grouping.sorted(by: { $0.key < $1.key }) {
      guard MetricName.isValidLabel(name), name != "job" else {
        throw TapError(.push, "no label to group by: \(name)".withoutUserinfo)
      }
      path += Self.segments(name, value)
    }
    parts.percentEncodedPath = path
    guard let url = parts.url else { throw TapError(.push, "no URL for the group") }
    self.url = url
  }

  /// `/name/value`; a value that a path cannot hold goes in Base64 (Pushgateway, "Encoding of label values").
  private static func segments(_ name: String, _ value: String) -> String {
    if !["", ".", ".."].contains(value), value.utf8.allSatisfy(\.isUnreserved) {
      return "/\(name)/\(value)"
    }
    let encoded = Data(value.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    return "/\(name)@base64/" + (encoded.isEmpty ? "=" : encoded)
  }
}
