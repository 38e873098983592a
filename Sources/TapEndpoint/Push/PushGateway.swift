import TapCore

/// A Pushgateway, and the group under which it keeps what is pushed.
public struct PushGateway: Sendable, Hashable {
  let host: String
  let port: Int
  /// The path of the group: `/metrics/job/backup`.
  let path: String
  /// The value of the Authorization field, if the URL has userinfo.
  let authorization: String?

  /// Names a gateway and a group.
  ///
  /// - Parameters:
  ///   - url: `http://HOST[:PORT][/PATH]`; userinfo in it is sent as basic authentication. TLS is not built in:
  ///     put a proxy in between.
  ///   - job: the `job` label of everything in the group.
  ///   - grouping: further labels of the group, such as `instance`. Jobs that push under the same labels
  ///     replace each other's metrics.
  /// - Throws: ``PushError`` if the URL is none of these, or a label's name is no label name.
  public init(_ url: String, job: String, grouping: [String: String] = [:]) throws(PushError) {
    let bytes = Array(url.utf8)
    guard bytes.count > 7, bytes.allSatisfy(ByteClass.isVisible),
      zip(bytes, "http://".utf8).allSatisfy({ $0.asciiLowercased == $1 })
    else {
      throw PushError(.invalidTarget, "not an http URL: \(url) (https needs a proxy in between)")
    }
    let rest = bytes.dropFirst(7)
    let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    var authority = rest[..<end]
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      let secret = PercentEncoding.decoded(authority[..<at])
      authorization = "Basic " + String(decoding: Base64.encoded(secret), as: UTF8.self)
      authority = authority[at...].dropFirst()
    } else {
      authorization = nil
    }
    guard Authority.isValid(authority) else { throw PushError(.invalidTarget, "no host: \(url)") }
    (host, port) = Self.hostAndPort(authority)

    guard !job.isEmpty else { throw PushError(.invalidTarget, "the job has no name") }
    var path = String(decoding: rest[end...], as: UTF8.self)
    while path.hasSuffix("/") { path.removeLast() }
    guard !path.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      throw PushError(.invalidTarget, "a query in the URL: \(url)")
    }
    path += "/metrics" + Self.segments("job", job)
    for (name, value) in grouping.sorted(by: { $0.key < $1.key }) {
      guard Self.isLabelName(name), name != "job" else {
        throw PushError(.invalidTarget, "no label to group by: \(name)")
      }
      path += Self.segments(name, value)
    }
    self.path = path
  }

  /// `/name/value`; a value that a path cannot hold goes in Base64 (Pushgateway, "Encoding of label values").
  private static func segments(_ name: String, _ value: String) -> String {
    if !value.isEmpty, value.utf8.allSatisfy(ByteClass.isUnreserved), value != ".", value != ".." {
      return "/\(name)/\(value)"
    }
    let encoded = Base64.encoded(value.utf8).map { byte in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return "/\(name)@base64/" + (encoded.isEmpty ? "=" : String(decoding: encoded, as: UTF8.self))
  }

  private static func isLabelName(_ name: String) -> Bool {
    guard let first = name.utf8.first, ByteClass.decimalValue(first) == nil, !name.hasPrefix("__") else {
      return false
    }
    return name.utf8.allSatisfy { byte in
      ByteClass.isToken(byte) && ByteClass.isUnreserved(byte) && byte != UInt8(ascii: "-")
        && byte != UInt8(ascii: ".")
        && byte != UInt8(ascii: "~")
    }
  }

  /// Takes a valid authority apart. Without a port, it is 80.
  private static func hostAndPort(_ authority: ArraySlice<UInt8>) -> (String, Int) {
    let isLiteral = authority.first == UInt8(ascii: "[")
    let hostEnd =
      authority.firstIndex(of: isLiteral ? UInt8(ascii: "]") : UInt8(ascii: ":")) ?? authority.endIndex
    let host = isLiteral ? authority[..<hostEnd].dropFirst() : authority[..<hostEnd]
    let digits = authority[hostEnd...].drop { ByteClass.decimalValue($0) == nil }
    return (String(decoding: host, as: UTF8.self), Int(String(decoding: digits, as: UTF8.self)) ?? 80)
  }

  /// The value of the Host field.
  var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Why metrics could not be pushed. Its description names the cause in one line.
public struct PushError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The causes. New ones may come: a `switch` over them needs a default.
  public struct Code: Sendable, Hashable {
    private enum Name { case invalidTarget, unreachable, refused }
    private let name: Name

    /// The URL, the job or a label cannot be used.
    public static let invalidTarget = Code(name: .invalidTarget)
    /// No server answers at the address, or not in time.
    public static let unreachable = Code(name: .unreachable)
    /// The gateway refuses the metrics.
    public static let refused = Code(name: .refused)
  }

  /// The cause.
  public let code: Code
  /// The cause in one line.
  public let description: String
  /// Whether the same push may succeed later.
  public let isTransient: Bool

  init(_ code: Code, _ description: String, isTransient: Bool = false) {
    self.code = code
    self.description = description
    self.isTransient = isTransient
  }
}
