import TapCore

/// The fields that the app adds: those of every line, rendered once, and those of one line. No key ever
/// stands twice: keys that the line has by itself are refused, and a line's own field replaces one of every
/// line's.
struct LineFields: Sendable {
  private let shared: [(key: String, text: [UInt8])]
  private let reserved: LineKeys

  /// - Parameter reserved: The keys that the lines have by themselves. They stay reserved where their value
  ///   is unknown: a reader that finds one knows what it means.
  init(shared fields: [String: FieldValue], reserved: LineKeys) {
    self.reserved = reserved
    // Six bytes are the most that escaping makes of one; punctuation and a number take the rest.
    let capacity = 6 * (LineLimits.name + LineLimits.value) + 64
    shared = fields.sorted { $0.key < $1.key }
      .filter { reserved.allow($0.key) }
      .map { field in
        (field.key, LineWriter.bytes(capacity: capacity) { $0.field(field.key, field.value) })
      }
  }

  /// Writes the fields, in the order of their keys.
  func write(_ fields: [String: FieldValue], to line: inout LineWriter) {
    for field in shared where fields[field.key] == nil {
      line.part { $0.append(field.text) }
    }
    if fields.isEmpty { return }
    var count = 0
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      // A key is not cut, because two that are cut might be one.
      guard count < LineLimits.fields, key.utf8.count <= LineLimits.name, reserved.allow(key) else {
        line.refused += 1
        continue
      }
      count += 1
      line.part { $0.field(key, value) }
    }
  }

  /// Whether each of the fields can stand in every line.
  static func check(_ fields: [String: FieldValue]) throws(RequestLogError) {
    func refuse(_ what: String, _ reason: String) -> RequestLogError {
      RequestLogError(code: .invalidField, description: "\(what) cannot be set: \(reason)")
    }
    if fields.count > LineLimits.fields {
      throw refuse(
        "\(fields.count) log fields", "a line has room for \(LineLimits.fields); set fewer for every line")
    }
    for key in fields.keys.sorted() {
      let field = "the log field \(RequestLogError.quoted(key))"
      if !LineKeys.request.allow(key) {
        throw refuse(
          field,
          "lines have it by themselves, or it and such a key begin with each other; choose another key")
      }
      if key.utf8.count > LineLimits.name {
        throw refuse(field, "its key has more than \(LineLimits.name) bytes; choose a shorter one")
      }
    }
  }
}

/// The keys that lines of one kind have by themselves.
struct LineKeys: Sendable {
  private let keys: Set<String>
  /// What is before the dots of the keys: a reader that expands dots makes objects of them.
  private let namespaces: Set<String>

  private init(_ keys: Set<String>) {
    self.keys = keys.union(Self.every)
    namespaces = Set(self.keys.flatMap { Self.namespaces(of: $0) })
  }

  /// Whether a field may have a key: it is none of these, and neither of the two is the beginning of the
  /// other up to a dot. Readers that expand dots refuse a line with such a pair.
  func allow(_ key: String) -> Bool {
    !keys.contains(key) && !namespaces.contains(key)
      && Self.namespaces(of: key).allSatisfy { !keys.contains($0) }
  }

  private static func namespaces(of key: String) -> [String] {
    key.utf8.indices.filter { key.utf8[$0] == UInt8(ascii: ".") }.map { String(key[..<$0]) }
  }

  /// The keys of every line; headers are below those two.
  private static let every: Set<String> = [
    "timestamp", "severity", "event", "dropped_attributes_count", "http.request.header",
    "http.response.header",
  ]

  /// Of a request in either direction.
  static let request = LineKeys(
    Set([
      "trace_id", "span_id", "http.request.method", "http.request.method_original",
      "http.response.status_code", "error.type", "exception.type", "exception.message", "duration_s",
      "http.request.body.size", "http.response.body.size", "outcome", "waiting_for", "idle_s", "client.name",
      "url.full", "url.template", "server.address", "server.port", "time_to_first_byte_s", "upstream_s",
      "own_s", "upstream_requests", "cut_off_phase", "network.protocol.version", "network.peer.address",
      "connection.reused", "network.resent_after_s", "network.round_trip_s", "network.retransmits",
      "http.request.resend_count", "from_cache", "url.path", "url.scheme", "http.route", "client.address",
      "black_box.pid", "black_box.last_sign_of_life",
    ]).union(RequestTimings.Phase.allCases.map(\.logKey)))

  /// Of a line of the app's own, which may well name a client.
  static let app = LineKeys(["message"])
}

extension LineWriter {
  /// `,"key":value`
  fileprivate mutating func field(_ key: String, _ value: FieldValue) {
    append(",")
    string(key, limit: LineLimits.name)
    append(":")
    switch value {
    case .string(let text): string(text, limit: LineLimits.value)
    case .integer(let number): integer(number)
    case .double(let number): double(number)
    case .boolean(let flag): append(flag ? "true" : "false")
    }
  }
}

extension RequestTimings.Phase {
  var logKey: String { rawValue + "_s" }
}
