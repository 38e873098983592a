import TapCore

/// Writes to a descriptor of the app or of the process, such as standard error. Its flags are not changed, and it is
/// never closed.
struct DescriptorOutput: LogOutput {
  private let descriptor: Int32

  init(_ descriptor: Int32) throws(RequestLogError) {
    do {
      try System.checkWritable(descriptor)
    } catch {
      throw .cannotWrite(descriptor: descriptor, error)
    }
    self.descriptor = descriptor
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    guard let status = try? System.status(ofDescriptor: descriptor) else { return .failed }
    return batch.write(to: descriptor, isPipe: status.kind != .regular)
  }
}

extension LineBuffer {
  /// The bytes that a pipe takes as one piece (POSIX, `PIPE_BUF`: 4,096 on Linux, at least 512 elsewhere).
  private static let pipeLimit = 4_096
  /// How long to wait for a full pipe, in milliseconds.
  private static let pipeTimeout: Int32 = 20

  /// Writes all lines to a file, or as many whole ones as `capacity` allows, in one call, and takes them off. A pipe gets whole
  /// lines up to `PIPE_BUF`, which do not mix with those of another process, and only when it has space: its
  /// descriptor may be a blocking one.
  mutating func write(to descriptor: Int32, isPipe: Bool, capacity: Int = .max) -> LogOutputResult {
    if isPipe, !System.waitUntilWritable(descriptor, milliseconds: Self.pipeTimeout) { return .busy(.zero) }
    let length = self.length(limit: isPipe ? Self.pipeLimit : capacity)
    do {
      let count = try withBytes { bytes throws(System.Failure) in
        try System.write(UnsafeRawBufferPointer(rebasing: bytes[..<length]), to: descriptor)
      }
      return LogOutputResult(written: take(count), bytes: count)
    } catch {
      return error == .again ? .busy(.zero) : .failed
    }
  }
}
