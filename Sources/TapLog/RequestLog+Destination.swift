import TapCore

extension RequestLog {
  /// Where a log goes: one place, or several, each of which gets every line.
  ///
  ///     let log = try RequestLog(to: [.file("requests.jsonl"), .standardError])
  ///
  /// Each place has a queue and a thread of its own, with the limits of the ``Configuration``: one that hangs
  /// or fails keeps no line from the others. A log with more than 16 places does not start.
  public struct Destination: Sendable, ExpressibleByArrayLiteral {
    package struct Place {
      /// What distinguishes a place from others.
      package enum Kind: Hashable, Sendable { case file(String), descriptor(Int32), memory, custom }

      let kind: Kind
      let makeOutput: @Sendable (Configuration, LogFaults) throws(RequestLogError) -> any LogOutput

      /// What messages call it.
      var text: String {
        switch kind {
        case .file(let path): RequestLogError.quoted(path)
        case .descriptor(let number): "(descriptor \(number))"
        case .memory: "(memory)"
        case .custom: "(custom)"
        }
      }
    }

    /// The most places of a log: each has a thread and a queue.
    static let limit = 16

    /// At least one.
    let places: [Place]

    /// What distinguishes a destination from others. Sinks of the app's own are all one.
    package var kinds: [Place.Kind] { places.map(\.kind) }

    /// Whether rotation has an effect.
    package var isFile: Bool { places.contains { if case .file = $0.kind { true } else { false } } }

    var usesStandardStreams: Bool { places.contains { [.descriptor(1), .descriptor(2)].contains($0.kind) } }

    init(
      _ kind: Place.Kind,
      makeOutput: @escaping @Sendable (Configuration, LogFaults) throws(RequestLogError) -> any LogOutput
    ) {
      places = [Place(kind: kind, makeOutput: makeOutput)]
    }

    /// Several places. A file or a descriptor that is among them twice gets each line once. None at all is
    /// ``memory``.
    public init(_ destinations: [Destination]) {
      var kinds: Set<Place.Kind> = []
      let places = destinations.flatMap(\.places).filter {
        $0.kind == .custom || kinds.insert($0.kind).inserted
      }
      self.places = places.isEmpty ? Destination.memory.places : places
    }

    /// Several places.
    public init(arrayLiteral elements: Destination...) { self.init(elements) }

    /// Appends to a file, which is made if it does not exist; its directory must exist. Lines are written
    /// whole (`O_APPEND`, one call per batch).
    ///
    /// The path may be a FIFO, whose reader may come later while lines wait, or a character device such as
    /// `/dev/null`. The start refuses directories, Unix sockets and block devices.
    public static func file(_ path: String) -> Destination {
      Destination(.file(path)) { configuration, faults throws(RequestLogError) in
        try FileOutput(path, configuration, faults)
      }
    }

    /// Standard output, as containers collect it. If it is closed, the log does not start.
    public static var standardOutput: Destination { .descriptor(1) }

    /// Standard error. If it is closed, the log does not start.
    public static var standardError: Destination { .descriptor(2) }

    /// A descriptor of a file, a pipe or a connected socket, which the app has opened for writing and keeps
    /// open. The log does not close it.
    public static func descriptor(_ descriptor: Int32) -> Destination {
      Destination(.descriptor(descriptor)) { _, _ throws(RequestLogError) in
        try DescriptorOutput(descriptor)
      }
    }

    /// Keeps lines in memory only, as many as ``Configuration/recentLineLimit`` says.
    public static var memory: Destination {
      Destination(.memory) { _, _ throws(RequestLogError) in MemoryOutput() }
    }

    /// A sink of the app's own.
    public static func custom(_ sink: some LogSink) -> Destination {
      Destination(.custom) { _, faults throws(RequestLogError) in
        SinkOutput(sink: sink, faults: faults)
      }
    }
  }
}

/// An app's own destination for log lines: a socket, a message queue, a test's array.
///
/// The log's own thread calls a sink, one call at a time. A sink may block that thread: the queue then fills,
/// and lines that do not fit are dropped and counted, but no request and no scrape waits.
/// ``RequestLog/shutdown(within:)`` abandons the thread after its deadline. A sink may log lines. A flush of
/// the log that a sink asks for returns `false` at once, because it would wait for itself. It must not shut
/// down the log, which would drop the pending lines.
public protocol LogSink: Sendable {
  /// Takes one or more whole lines in UTF-8, each with its newline. The memory is valid only during the call.
  ///
  /// If this throws, the lines are dropped and counted as a write error, because some may be written.
  func write(_ lines: UnsafeRawBufferPointer) throws

  /// Makes the written lines durable. A flush calls it. Does nothing by default.
  func flush() throws

  /// Called last, when the log shuts down. Does nothing by default.
  func close()
}

extension LogSink {
  /// Does nothing.
  public func flush() throws {}

  /// Does nothing.
  public func close() {}
}

/// Writes to a descriptor of the app or of the process, such as standard error. It is never closed nor
/// changed.
private struct DescriptorOutput: LogOutput {
  private let descriptor: Int32

  init(_ descriptor: Int32) throws(RequestLogError) {
    do {
      try System.checkWritable(descriptor)
    } catch {
      throw RequestLogError(
        code: .cannotOpen,
        description:
          "cannot write the log to descriptor \(descriptor): \(error.text); open it for writing, and keep it open"
      )
    }
    self.descriptor = descriptor
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let status: System.FileStatus
    do { status = try System.status(ofDescriptor: descriptor) } catch { return .failed(error.text) }
    return batch.write(to: descriptor, isStream: status.kind != .regular)
  }
}

private struct MemoryOutput: LogOutput {
  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    return LogOutputResult(written: batch.take(bytes), bytes: bytes)
  }
}

/// Gives the lines to a sink of the app's. What it refuses is dropped.
private struct SinkOutput: LogOutput {
  let sink: any LogSink
  let faults: LogFaults

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    do {
      try batch.withBytes { lines in try sink.write(lines) }
      return LogOutputResult(written: batch.take(bytes), bytes: bytes)
    } catch {
      return LogOutputResult(dropped: batch.take(bytes).total, state: .failed("\(error)"))
    }
  }

  func flush() {
    do {
      try sink.flush()
      faults.works(.synchronization)
    } catch {
      faults.failed(.synchronization, "\(error)")
    }
  }

  func close() { sink.close() }
}
