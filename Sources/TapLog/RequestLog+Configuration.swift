public import TapCore

extension RequestLog {
  /// The settings of a log. Values are clamped to their ranges.
  public struct Configuration: Sendable {
    /// What a line shows of a request: by default no userinfo, query values, headers or fragments.
    public var redaction = LogRedaction()
    /// Which requests get a line: all by default.
    public var sampling = LogSampling()
    /// Replaces ``sampling`` for the requests of some clients, by name.
    public var clientSampling: [String: LogSampling] = [:]
    /// Fields that every line has, such as `service.name`: at most 64, with keys of at most 256 bytes that
    /// the log does not use itself. Text is cut at 1,024 bytes. A request's own field with the same key takes
    /// precedence.
    public var fields: [String: FieldValue] = [:]
    /// The maximum bytes of lines in the queue: 4 MiB by default, at least 32 KiB. The writer has a second
    /// buffer with this limit. Memory grows with the lines that wait, and is not released.
    public var queueByteLimit = 4 << 20
    /// The maximum number of lines in the queue, at least 1. A line that finds the queue full is dropped and
    /// counted.
    package var queueLineLimit = 16_384
    /// When the log rotates its file itself. `nil` by default: `logrotate` can do it, without a signal.
    public var rotation: LogRotation?
    /// How long a line may stay in the system's memory before `fsync`: a loss of power takes no older lines.
    /// `nil` by default: the system decides, usually within half a minute. With 0 or less, after each batch.
    public var synchronizationInterval: Duration?
    /// How many of the last lines stay in memory for ``RequestLog/recent()``, of at most 1 MiB: none by
    /// default.
    public var recentLineLimit = 0
    /// Says nothing on standard error.
    package var isQuiet = false

    /// The defaults.
    public init() {}
  }
}

extension RequestLog {
  /// Where a log goes: one place, or several (at most 16), each of which gets every line. Each has a queue
  /// and a thread of its own: one that hangs or fails keeps no line from the others.
  ///
  ///     let log = try RequestLog(to: [.file("requests.jsonl"), .standardError])
  public struct Destination: Sendable, ExpressibleByArrayLiteral {
    package enum Place: Equatable, Sendable {
      case file(String), descriptor(Int32), memory, custom(any LogSink)

      /// What messages call it.
      var text: String {
        switch self {
        case .file(let path): RequestLogError.quoted(path)
        case .descriptor(let number): "(descriptor \(number))"
        case .memory: "(memory)"
        case .custom: "(custom)"
        }
      }

      func makeOutput(
        _ configuration: Configuration, _ faults: LogFaults
      ) throws(RequestLogError) -> any LogOutput {
        switch self {
        case .file(let path): try FileOutput(path, configuration, faults)
        case .descriptor(let number): try DescriptorOutput(number)
        case .memory: MemoryOutput()
        case .custom(let sink): SinkOutput(sink: sink, faults: faults)
        }
      }

      /// Sinks of the app's own are all one.
      package static func == (one: Place, other: Place) -> Bool {
        switch (one, other) {
        case (.file(let path), .file(let other)): path == other
        case (.descriptor(let number), .descriptor(let other)): number == other
        case (.memory, .memory), (.custom, .custom): true
        default: false
        }
      }
    }

    /// The most places of a log: each has a thread and a queue.
    static let limit = 16

    /// At least one.
    package let places: [Place]

    /// Whether rotation has an effect.
    package var isFile: Bool { places.contains { if case .file = $0 { true } else { false } } }

    var usesStandardStreams: Bool { places.contains { [.descriptor(1), .descriptor(2)].contains($0) } }

    private init(_ place: Place) { places = [place] }

    /// Several places. A file that is among them twice, by whatever paths and descriptors, gets each line
    /// once: the log compares what they lead to. None at all is ``memory``.
    public init(_ destinations: [Destination]) {
      let places = destinations.flatMap(\.places)
      self.places = places.isEmpty ? Destination.memory.places : places
    }

    /// Several places.
    public init(arrayLiteral elements: Destination...) { self.init(elements) }

    /// Appends to a file, which is made if it does not exist; its directory must exist. Lines are written
    /// whole (`O_APPEND`, one call per batch).
    ///
    /// The path may be a FIFO, whose reader may come later while lines wait, or a character device such as
    /// `/dev/null`. The start refuses directories, Unix sockets and block devices.
    public static func file(_ path: String) -> Destination { Destination(.file(path)) }

    /// Standard output, as containers collect it. If it is closed, the log does not start.
    public static var standardOutput: Destination { .descriptor(1) }

    /// Standard error. If it is closed, the log does not start.
    public static var standardError: Destination { .descriptor(2) }

    /// A descriptor of a file, a pipe or a connected socket, which the app has opened for writing and keeps
    /// open. The log does not close it.
    public static func descriptor(_ descriptor: Int32) -> Destination {
      Destination(.descriptor(descriptor))
    }

    /// Keeps lines in memory only, as many as ``Configuration/recentLineLimit`` says.
    public static var memory: Destination { Destination(.memory) }

    /// A sink of the app's own.
    public static func custom(_ sink: some LogSink) -> Destination { Destination(.custom(sink)) }
  }
}
