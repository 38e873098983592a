import TapCore

/// Writes to a descriptor of the app or of the process, such as standard error. It is never closed nor
/// changed.
struct DescriptorOutput: LogOutput {
  private let descriptor: Int32

  init(_ descriptor: Int32) throws(RequestLogError) {
    do {
      try System.checkWritable(descriptor)
    } catch {
      throw RequestLogError(
        code: .cannotOpen,
        description:
          "cannot write the log to descriptor \(descriptor): \(error); open it for writing, and keep it open"
      )
    }
    self.descriptor = descriptor
  }

  var identity: System.FileStatus? { try? System.status(ofDescriptor: descriptor) }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let status: System.FileStatus
    do { status = try System.status(ofDescriptor: descriptor) } catch { return .failed("\(error)") }
    return batch.write(to: descriptor, isStream: status.kind != .regular)
  }
}

extension LineBuffer {
  /// The bytes that a pipe takes as one piece (POSIX, `PIPE_BUF`: 4,096 on Linux, at least 512 elsewhere).
  private static let pieceLimit = 4_096
  /// How long to wait for a reader, in milliseconds.
  private static let readerTimeout: Int32 = 20

  /// Writes all lines to a file, or as many whole ones as `capacity` allows, in one call, and takes them off.
  ///
  /// A stream (a pipe, a socket or a terminal) gets whole lines up to `PIPE_BUF`, which do not mix with those
  /// of another process, and only when it has room, since its descriptor may be a blocking one. If it fails
  /// inside a longer line, the rest of that line is dropped: the next reader would begin with it.
  mutating func write(
    to descriptor: Int32, isFile: Bool = false, isStream: Bool, capacity: Int = .max
  ) -> LogOutputResult {
    if isStream, !System.waitUntilWritable(descriptor, milliseconds: Self.readerTimeout) {
      return .busy(.zero)
    }
    let length = self.length(limit: isStream ? Self.pieceLimit : capacity)
    do throws(System.Failure) {
      let count = try withBytes { bytes throws(System.Failure) in
        try System.write(UnsafeRawBufferPointer(rebasing: bytes[..<length]), to: descriptor)
      }
      if count > 0 { return LogOutputResult(written: take(count), bytes: count) }
    } catch {
      guard error == .again else {
        let reason = isFile ? RequestLogError.advice(on: error) : error.description
        guard isStream, isFirstTorn else { return .failed(reason) }
        removeFirst()
        return LogOutputResult(dropped: 1, state: .failed(reason))
      }
    }
    // A terminal that has space may lack it for a newline, of which it makes two characters.
    return .busy(.milliseconds(Int64(Self.readerTimeout)))
  }
}
