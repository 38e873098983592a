/// Writes to a descriptor that somebody else owns, such as standard error. Its flags are not ours to change, and
/// it is never closed.
struct DescriptorOutput: LogOutput {
  private let descriptor: Int32

  init(descriptor: Int32) throws(RequestLogError) {
    do {
      try System.checkWritable(descriptor)
    } catch {
      throw .cannotWrite(descriptor: descriptor, error)
    }
    self.descriptor = descriptor
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    guard let status = try? System.status(ofDescriptor: descriptor) else { return .failed }
    return DescriptorWrite.write(&batch, to: descriptor, isPipe: status.kind != .regular)
  }

  func flush() -> Bool { true }

  func close() {}
}
