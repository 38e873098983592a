/// The values of `url_scheme`.
enum InboundScheme: Int, CaseIterable {
  case absent, http, https, other

  /// Reads a scheme, whose case does not matter (RFC 3986, section 3.1).
  init(_ scheme: String?) {
    switch scheme {
    case nil, "": self = .absent
    case "http": self = .http
    case "https": self = .https
    // What is longer than `https` is not even looked at: its length has no bound.
    case let text? where text.utf8.count <= 5:
      switch text.lowercased() {
      case "http": self = .http
      case "https": self = .https
      default: self = .other
      }
    default: self = .other
    }
  }

  var text: String? {
    switch self {
    case .absent: nil
    case .http: "http"
    case .https: "https"
    case .other: "_OTHER"
    }
  }
}
