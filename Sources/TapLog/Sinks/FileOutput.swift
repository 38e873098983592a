import Synchronization

/// Appends to the file at a path, and follows the path: when the file is moved away, removed or replaced, or the
/// descriptor stops being ours, the next write opens the path anew.
final class FileOutput: LogOutput {
  private let path: String
  private let permissions: Int
  private let state: Mutex<State>

  private struct State {
    var file: OpenFile?
  }

  private struct OpenFile {
    let descriptor: Int32
    let status: System.FileStatus
  }

  /// Opens the file. A FIFO that nobody reads yet is no error: the reader may come later.
  init(path: String, permissions: Int) throws(RequestLogError) {
    self.path = path
    self.permissions = permissions
    do {
      state = Mutex(State(file: try Self.open(path, permissions: permissions)))
    } catch {
      guard error == .noReader else { throw .cannotOpen(path: path, failure: error) }
      state = Mutex(State())
    }
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    state.withLock { state in
      var torn: UInt64 = 0
      if let file = state.file, !isCurrent(file) {
        close(file)
        state.file = nil
        // The rest of a line that began in another file makes no sense in this one.
        if batch.consumedOfFirst > 0 {
          batch.removeFirst()
          torn = 1
        }
      }
      var result = LogOutputResult(state: .failed)
      if state.file == nil { state.file = try? Self.open(path, permissions: permissions) }
      if let file = state.file {
        result =
          batch.isEmpty
          ? LogOutputResult()
          : DescriptorWrite.write(&batch, to: file.descriptor, isPipe: file.status.kind == .pipe)
        if result.state == .failed, file.status.kind == .pipe {
          // The reader has gone. Whoever comes next reads another pipe by the same name.
          close(file)
          state.file = nil
        }
      }
      result.dropped += torn
      return result
    }
  }

  func flush() {
    state.withLock { state in
      if let file = state.file { try? System.synchronize(file.descriptor) }
    }
  }

  func close() {
    state.withLock { state in
      if let file = state.file { close(file) }
      state.file = nil
    }
  }

  /// Whether the path still leads to the file that is open, and the descriptor does so too: an app that closes
  /// descriptors that are not its own may have given ours to another file by now.
  private func isCurrent(_ file: OpenFile) -> Bool {
    guard let own = try? System.status(ofDescriptor: file.descriptor), own.isSameFile(as: file.status),
      let named = try? System.status(ofPath: path)
    else { return false }
    return named.isSameFile(as: file.status)
  }

  /// Closes the descriptor, if it is still ours.
  private func close(_ file: OpenFile) {
    guard let own = try? System.status(ofDescriptor: file.descriptor), own.isSameFile(as: file.status) else {
      return
    }
    System.close(file.descriptor)
  }

  /// Opens the file, and ends a line that a killed process left unfinished in it.
  private static func open(_ path: String, permissions: Int) throws(System.Failure) -> OpenFile {
    let descriptor = try System.openForAppending(path, permissions: permissions)
    do {
      let status = try System.status(ofDescriptor: descriptor)
      if status.kind == .regular, let last = System.lastByte(ofPath: path, size: status.size),
        last != .newline
      {
        var newline = UInt8.newline
        _ = try withUnsafeBytes(of: &newline) { bytes throws(System.Failure) in
          try System.write(bytes, UnsafeRawBufferPointer(start: nil, count: 0), to: descriptor)
        }
      }
      return OpenFile(descriptor: descriptor, status: status)
    } catch {
      System.close(descriptor)
      throw error
    }
  }
}
