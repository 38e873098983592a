/// One write of a batch to a descriptor.
enum DescriptorWrite {
  /// What POSIX guarantees a pipe to take as one piece (`PIPE_BUF` of Linux; 512 is the least there is).
  private static let pipeLimit = 4_096
  /// How long one look at a pipe that is full lasts.
  private static let patience: Int32 = 20
  private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Writes all of the batch to a file, or as many whole lines as there is room for, in one call. A pipe gets whole
  /// lines up to `PIPE_BUF`, which do not mix with those of another process, and only when it has room: its
  /// descriptor may be one that blocks.
  static func write(
    _ batch: inout LineBuffer, to descriptor: Int32, isPipe: Bool, room: Int = .max
  ) -> LogOutputResult {
    if isPipe, !System.waitUntilWritable(descriptor, milliseconds: patience) { return .busy(.zero) }
    let limit = isPipe ? pipeLimit : room
    let pieces = batch.byteCount <= limit ? batch.pieces : (batch.prefix(limit), Self.nothing)
    do {
      var result = LogOutputResult()
      result.bytes = try System.write(pieces.0, pieces.1, to: descriptor)
      batch.consume(result.bytes, into: &result.written)
      return result
    } catch {
      return error == .again ? .busy(.zero) : .failed
    }
  }
}
