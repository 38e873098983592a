import Synchronization
import TapCore

/// Appends to the file at a path, and follows the path: when the file is moved away, removed or replaced, or the
/// descriptor is not that of the file any more, the next write reopens the path.
final class FileOutput: LogOutput {
  private let path: String
  private let permissions: Int
  private let configuration: RequestLog.Configuration
  private let state: Mutex<State>

  /// How long the path may lead to no file before the file is created. `logrotate` moves a file away and creates the
  /// next one itself (`create`); it moves a file aside that is there before.
  private static let absenceLimit = Duration.milliseconds(250)
  private static let absencePause = Duration.milliseconds(1)

  private struct State {
    var file: OpenFile?
    /// The old files beside the one at the end of the path's links.
    var rotated: RotatedFiles?
    /// The end of the wait for a file at the path.
    var absentUntil: Instant?
    /// The time of the first write that has not been made durable.
    var unsynchronizedSince: Instant?
  }

  /// Opens the file. A FIFO without a reader is no error: the reader may come later.
  init(_ path: String, _ configuration: RequestLog.Configuration) throws(RequestLogError) {
    func refusal(_ reason: String) -> RequestLogError { .cannotOpen(path: path, because: reason) }
    // A path goes to the system as a C string, which ends there: it would be another file's.
    if path.utf8.contains(0) { throw refusal("it has a NUL in it; choose a path without one") }
    if path.isEmpty { throw refusal("the path is empty; name a file") }
    let permissions = configuration.filePermissions & 0o777 | 0o200
    (self.path, self.permissions, self.configuration) = (path, permissions, configuration)
    let rotated = RotatedFiles(ofLogAt: path, permissions: permissions, configuration.rotation)
    if rotated?.hasTooLongNames == true {
      throw refusal("no room in the name for what rotation adds to it; choose a shorter one")
    }
    var file: OpenFile?
    do {
      file = try OpenFile.open(path, permissions: permissions)
    } catch {
      // A FIFO without a reader; but also a Unix socket, and a device without a driver (open(2), ENXIO).
      let kind = try? System.status(ofPath: path).kind
      if kind == .socket {
        throw refusal("it is a socket; connect to it and give the log the descriptor, or choose another path")
      }
      guard error == .noReader, kind == .pipe else { throw .cannotOpen(path: path, error) }
    }
    if file?.kind == .blockDevice {
      file?.close()
      throw refusal("it is a block device; choose a path where this process can append to a file")
    }
    state = Mutex(State(file: file, rotated: rotated))
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    state.withLock { state in
      let torn = leaveStaleFile(&state, &batch)
      var result = write(&batch, &state)
      result.dropped += torn
      return result
    }
  }

  private func write(_ batch: inout LineBuffer, _ state: inout State) -> LogOutputResult {
    if batch.isEmpty { return LogOutputResult() }
    if state.file == nil {
      if let pause = awaitPath(&state) { return .busy(pause) }
      state.file = try? OpenFile.open(path, permissions: permissions)
    }
    guard var file = state.file else { return .failed }
    let capacity = capacity(for: batch, of: &file, &state)
    let result = batch.write(to: file.descriptor, isStream: file.kind != .regular, capacity: capacity)
    file.size += result.bytes
    state.file = file
    if result.bytes > 0, configuration.synchronizationInterval != nil {
      state.unsynchronizedSince = state.unsynchronizedSince ?? Instant.now
    }
    if result.state == .failed, file.kind != .regular {
      // The reader has gone. The next one may open another pipe or device at the same path.
      file.close()
      state.file = nil
    }
    return result
  }

  /// How many bytes the file takes. If it is time for a new one, it is moved aside first.
  private func capacity(for batch: LineBuffer, of file: inout OpenFile, _ state: inout State) -> Int {
    guard let rotation = configuration.rotation, file.kind == .regular, batch.takenOfFirst == 0 else {
      return .max
    }
    let (now, next) = (Timestamp.now, batch.firstLength)
    let left = rotation.capacity(
      size: file.size, modified: file.modified, now: now.nanosecondsSinceEpoch, next: next)
    if let left { return left }
    rotate(&file, at: now, &state)
    return max(next, rotation.maximumSize ?? .max)
  }

  /// Moves the file aside and opens the next one. If either fails, the old one goes on.
  private func rotate(_ file: inout OpenFile, at time: Timestamp, _ state: inout State) {
    let rotated = RotatedFiles(ofLogAt: path, permissions: permissions, configuration.rotation)
    if rotated?.path != state.rotated?.path { state.rotated = rotated }
    guard let rotated = state.rotated, rotated.move(file, at: time),
      let next = try? OpenFile.open(path, permissions: permissions)
    else { return }
    file.close()
    file = next
    rotated.tidy()
  }

  /// Closes a file that is not the one at the path any more. Returns the number of lines that could not be finished.
  private func leaveStaleFile(_ state: inout State, _ batch: inout LineBuffer) -> UInt64 {
    guard var file = state.file else { return 0 }
    let written = file.size
    let isCurrent = file.refresh(at: path)
    // The rest of a line that began elsewhere, or that another process has written behind, makes no sense here.
    let isChanged = !isCurrent || file.kind == .regular && file.size != written
    let isTorn = batch.takenOfFirst > 0 && isChanged
    if isTorn { batch.removeFirst() }
    if isCurrent {
      state.file = file
    } else {
      file.close()
      state.file = nil
    }
    return isTorn ? 1 : 0
  }

  /// How long to wait for another process to put a file at the path, or `nil` if it is there or the wait is over.
  private func awaitPath(_ state: inout State) -> Duration? {
    let now = Instant.now
    let end = state.absentUntil ?? now.advanced(by: Self.absenceLimit)
    let waits = System.failure(ofPath: path) == .missing && now < end
    state.absentUntil = waits ? end : nil
    return waits ? Self.absencePause : nil
  }

  func flush() -> Bool { configuration.synchronizationInterval == nil || state.withLock { synchronize(&$0) } }

  func maintain(now: Instant) -> Instant {
    guard let interval = configuration.synchronizationInterval else { return .never }
    return state.withLock { state in
      guard let since = state.unsynchronizedSince else { return .never }
      let due = since.advanced(by: interval)
      guard now >= due else { return due }
      _ = synchronize(&state)
      return .never
    }
  }

  private func synchronize(_ state: inout State) -> Bool {
    state.unsynchronizedSince = nil
    guard let file = state.file, file.kind == .regular else { return true }
    return (try? System.synchronize(file.descriptor)) != nil
  }

  func close() {
    state.withLock { state in
      if configuration.synchronizationInterval != nil { _ = synchronize(&state) }
      state.file?.close()
      state.file = nil
    }
  }
}
