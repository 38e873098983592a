public import Logging
public import SessionTap

/// Writes swift-log's messages into a tap's log, among the lines of the requests.
///
///     LoggingSystem.bootstrap { TapLogHandler(label: $0, tap: tap) }
///
/// The product `TapTracing` has a metadata provider, `.trace`, that adds the ids of the trace.
///
/// A line has the fields `logger` (the label), `source`, `code.file.path`, `code.line.number`,
/// `code.function.name`, and those of the metadata:
/// - nested dictionaries are flattened, `["user": ["id": "7"]]` to `"user.id":"7"`; arrays are text;
/// - integers, floating-point numbers and booleans that are passed as such (`.stringConvertible(42)`) keep
///   their type;
/// - the call's metadata takes precedence over the provider's, and the provider's over the logger's;
/// - a key that the line itself uses gets a prefix: `metadata.message`;
/// - a value with attributes (SLG-0004) is `REDACTED`, also in what a bootstrapped tap leaves on standard
///   error, unless ``reveals`` shows it.
///
/// The log has five severities: `notice` becomes INFO and `critical` ERROR, with the original in the field
/// `level`. The log's limits and sampling apply. Logging never waits.
public struct TapLogHandler: LogHandler {
  /// The least severe level that is logged.
  public var logLevel: Logger.Level
  /// Metadata of every line of the logger.
  public var metadata: Logger.Metadata {
    get { Dictionary(entries) { $1 } }
    set { entries = newValue.map { ($0, $1) } }
  }
  /// Adds metadata when a message is logged, such as the trace.
  public var metadataProvider: Logger.MetadataProvider?
  /// Whether a value of metadata with these attributes is logged as it is: by default none is. swift-log has
  /// attributes, and packages define them: only the app knows which do not mean that a value is sensitive.
  public var reveals: @Sendable (Logger.MetadataValueAttributes) -> Bool = { _ in false }

  private let label: String
  private let log: RequestLog?
  /// Gets each message as well, with all its metadata.
  private let other: (any LogHandler)?
  /// A list, because a framework gives each request a logger with an entry or two, and a dictionary takes
  /// five times as long.
  private var entries: [(key: String, value: Logger.MetadataValue)] = []

  /// Makes the handler of a logger.
  ///
  /// - Parameters:
  ///   - label: The logger's label.
  ///   - tap: The lines go to its log; without one they are dropped.
  ///   - logLevel: The initial level of the logger.
  ///   - metadataProvider: Adds metadata when a message is logged, such as the trace.
  public init(
    label: String, tap: Tap, logLevel: Logger.Level = .info, metadataProvider: Logger.MetadataProvider? = nil
  ) {
    self.init(label: label, log: tap.requestLog, logLevel: logLevel, metadataProvider: metadataProvider)
  }

  /// - Parameters:
  ///   - log: Where the lines go.
  ///   - other: Gets each message as well. It costs a logger's copy a reference, where a multiplex handler
  ///     would copy the metadata twice.
  package init(
    label: String, log: RequestLog?, and other: (any LogHandler)? = nil, logLevel: Logger.Level = .info,
    metadataProvider: Logger.MetadataProvider?
  ) {
    self.label = label
    (self.log, self.other) = (log, other)
    self.logLevel = logLevel
    self.metadataProvider = metadataProvider
  }

  /// An entry of the metadata.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { entries.first { $0.key == key }?.value }
    set {
      entries.removeAll { $0.key == key }
      if let newValue { entries.append((key, newValue)) }
    }
  }

  /// Writes a line.
  public func log(event: LogEvent) {
    var metadata = metadata
    if let metadataProvider { metadata.merge(metadataProvider.get()) { $1 } }
    if let more = event.metadata { metadata.merge(more) { $1 } }
    for index in metadata.values.indices where mayHaveAttributes(metadata.values[index]) {
      metadata.values[index] = redacted(metadata.values[index])
    }
    if let other {
      var event = event
      event.metadata = metadata
      other.log(event: event)
    }
    guard let log else { return }
    var fields: [String: FieldValue] = [:]
    for (key, value) in metadata {
      add(value, as: Self.ownKeys.contains(key) ? "metadata.\(key)" : key, depth: 1, to: &fields)
    }
    if let error = event.error {
      fields["exception.message"] = .string("\(error)")
      fields["exception.type"] = .string(String(reflecting: type(of: error)))
    }
    let (severity, level) = Self.severity(of: event.level)
    if let level { fields["level"] = level }
    fields["logger"] = .string(label)
    fields["source"] = .string(event.source)
    fields["code.file.path"] = .string(event.file)
    fields["code.line.number"] = .integer(Int64(clamping: event.line))
    fields["code.function.name"] = .string(event.function)
    log.log(severity, event.message.description, fields)
  }

  /// How deep metadata is flattened; what is deeper becomes text.
  private static let depthLimit = 8
  /// How deep attributes are looked for; nothing that is deeper is shown.
  private static let redactionDepthLimit = 64

  /// The keys of the line, and of this handler.
  private static let ownKeys: Set<String> = [
    "timestamp", "severity", "event", "message", "dropped_attributes_count", "level", "logger", "source",
    "code.file.path", "code.line.number", "code.function.name",
  ]

  /// Most values are plain text, which cannot have any.
  private func mayHaveAttributes(_ value: Logger.MetadataValue) -> Bool {
    if case .string = value { false } else { true }
  }

  private func redacted(_ value: Logger.MetadataValue, depth: Int = 1) -> Logger.MetadataValue {
    switch value {
    case .string: value
    case .stringConvertible:
      value.attributes == Logger.MetadataValueAttributes() || reveals(value.attributes) ? value : "REDACTED"
    case .dictionary where depth > Self.redactionDepthLimit, .array where depth > Self.redactionDepthLimit:
      "REDACTED"
    case .dictionary(let members): .dictionary(members.mapValues { redacted($0, depth: depth + 1) })
    case .array(let members): .array(members.map { redacted($0, depth: depth + 1) })
    }
  }

  private func add(
    _ value: Logger.MetadataValue, as key: String, depth: Int, to fields: inout [String: FieldValue]
  ) {
    // A given key takes precedence over a flattened one.
    guard depth == 1 || fields[key] == nil else { return }
    switch value {
    case .string(let text): fields[key] = .string(text)
    case .stringConvertible(let value): fields[key] = Self.field(value)
    case .dictionary(let members) where depth < Self.depthLimit:
      for (name, member) in members { add(member, as: "\(key).\(name)", depth: depth + 1, to: &fields) }
    case .dictionary, .array: fields[key] = .string(value.description)
    }
  }

  private static func field(_ value: any CustomStringConvertible) -> FieldValue {
    switch value {
    case let flag as Bool: .boolean(flag)
    case let number as any BinaryInteger:
      Int64(exactly: number).map { .integer($0) } ?? .string(value.description)
    case let number as any BinaryFloatingPoint: .double(Double(number))
    default: .string(value.description)
    }
  }

  /// The severity, and the level if the severity says less.
  private static func severity(of level: Logger.Level) -> (LogSeverity, FieldValue?) {
    switch level {
    case .trace: (.trace, nil)
    case .debug: (.debug, nil)
    case .info: (.info, nil)
    case .notice: (.info, "notice")
    case .warning: (.warn, nil)
    case .error: (.error, nil)
    case .critical: (.error, "critical")
    }
  }
}
