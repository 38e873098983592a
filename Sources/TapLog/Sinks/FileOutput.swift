import Synchronization
import TapCore

/// Appends to the file at a path, and follows the path: when the file is moved away, removed or replaced, or the
/// descriptor is not that of the file any more, the next write reopens the path.
final class FileOutput: LogOutput {
  private let path: String
  private let permissions: Int
  private let configuration: RequestLog.Configuration
  private let rotated: RotatedFiles?
  private let reopenRequests = Atomic<Int>(0)
  private let state: Mutex<State>

  /// How long the path may lead to no file before the file is created. `logrotate` moves a file away and creates the
  /// next one itself (`create`); it moves a file aside that is there before.
  private static let absenceLimit = Duration.milliseconds(250)
  private static let absencePause = Duration.milliseconds(1)

  private struct State {
    var file: OpenFile?
    /// The end of the wait for a file at the path.
    var absentUntil: Instant?
    var seenReopenRequests = 0
    /// The time of the first write that has not been made durable.
    var unsynchronizedSince: Instant?
  }

  /// Opens the file. A FIFO without a reader is no error: the reader may come later.
  init(_ path: String, _ configuration: RequestLog.Configuration) throws(RequestLogError) {
    // A path goes to the system as a C string, which ends there: it would be another file's.
    if path.utf8.contains(0) {
      throw .cannotOpen(path: path, because: "it has a NUL in it; choose a path without one")
    }
    if path.isEmpty { throw .cannotOpen(path: path, because: "the path is empty; name a file") }
    let permissions = configuration.filePermissions & 0o777 | 0o200
    (self.path, self.permissions, self.configuration) = (path, permissions, configuration)
    rotated = configuration.rotation.map { RotatedFiles(path: path, permissions: permissions, rotation: $0) }
    if rotated?.hasTooLongNames == true {
      throw .cannotOpen(
        path: path, because: "no room in the name for what rotation adds to it; choose a shorter one")
    }
    var file: OpenFile?
    do {
      file = try OpenFile(path, permissions: permissions)
    } catch {
      // A FIFO without a reader; but also a Unix socket, and a device without a driver (open(2), ENXIO).
      let kind = try? System.status(ofPath: path).kind
      if kind == .socket {
        throw .cannotOpen(
          path: path,
          because: "it is a socket; connect to it and give the log the descriptor, or choose another path")
      }
      guard error == .noReader, kind == .pipe else { throw .cannotOpen(path: path, error) }
    }
    if file?.kind == .blockDevice {
      file?.close()
      throw .cannotOpen(
        path: path,
        because: "it is a block device; choose a path where this process can append to a file")
    }
    if configuration.reopensOnHangup { HangupSignal.install() }
    state = Mutex(
      State(file: file, seenReopenRequests: configuration.reopensOnHangup ? HangupSignal.count : 0))
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
      state.file = try? OpenFile(path, permissions: permissions)
    }
    guard var file = state.file else { return .failed }
    let result = write(&batch, to: &file)
    state.file = file
    if result.bytes > 0, configuration.synchronizationInterval != nil {
      state.unsynchronizedSince = state.unsynchronizedSince ?? Instant.now
    }
    if result.state == .failed, file.kind == .pipe {
      // The reader has gone. The next one may open another pipe at the same path.
      file.close()
      state.file = nil
    }
    return result
  }

  /// Writes to a file that is the right one, or moves it aside first.
  private func write(_ batch: inout LineBuffer, to file: inout OpenFile) -> LogOutputResult {
    var capacity = Int.max
    if let rotation = configuration.rotation, file.kind == .regular, batch.takenOfFirst == 0 {
      let now = Timestamp.now
      if let left = rotation.capacity(
        size: file.size, modified: file.modified, now: now.nanosecondsSinceEpoch, next: batch.firstLength)
      {
        capacity = left
      } else {
        rotate(&file, at: now)
        capacity = max(batch.firstLength, rotation.maximumSize ?? .max)
      }
    }
    let result = batch.write(to: file.descriptor, isPipe: file.kind == .pipe, capacity: capacity)
    file.size += result.bytes
    return result
  }

  /// Moves the file aside and opens the next one. If either fails, the old one goes on.
  private func rotate(_ file: inout OpenFile, at time: Timestamp) {
    // Of two processes that find it time, one moves the file, and the other finds it moved.
    guard let rotated, System.lock(file.descriptor) else { return }
    defer { System.unlock(file.descriptor) }
    guard file.isCurrent(at: path), let target = rotated.freePath(at: time),
      (try? System.rename(path, to: target)) != nil, let next = try? OpenFile(path, permissions: permissions)
    else { return }
    let old = file
    file = next
    old.close()
    rotated.tidy()
  }

  /// Closes a file that is not the one at the path any more, or that is to be reopened. Returns the number of lines
  /// that could not be finished.
  private func leaveStaleFile(_ state: inout State, _ batch: inout LineBuffer) -> UInt64 {
    let requests =
      reopenRequests.load(ordering: .relaxed) &+ (configuration.reopensOnHangup ? HangupSignal.count : 0)
    let isAsked = requests != state.seenReopenRequests
    state.seenReopenRequests = requests
    guard var file = state.file else { return 0 }
    let written = file.size
    let isCurrent = file.refresh(at: path)
    // The rest of a line that began elsewhere, or that another process has written behind, makes no sense here.
    let isTorn = batch.takenOfFirst > 0 && file.kind == .regular && (!isCurrent || file.size != written)
    if isTorn { batch.removeFirst() }
    if isCurrent, !isAsked || batch.takenOfFirst > 0 {
      state.file = file
    } else {
      file.close()
      state.file = nil
    }
    return isTorn ? 1 : 0
  }

  /// How long to wait for another process to put a file at the path, or `nil` if it is there or the wait is over.
  private func awaitPath(_ state: inout State) -> Duration? {
    do {
      _ = try System.status(ofPath: path)
    } catch {
      let now = Instant.now
      if error == .missing {
        let end = state.absentUntil ?? now.advanced(by: Self.absenceLimit)
        state.absentUntil = end
        if now < end { return Self.absencePause }
      }
    }
    state.absentUntil = nil
    return nil
  }

  func flush() -> Bool {
    configuration.synchronizationInterval == nil || state.withLock { synchronize(&$0) }
  }

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

  func reopen() { reopenRequests.wrappingAdd(1, ordering: .relaxed) }

  func close() {
    state.withLock { state in
      if configuration.synchronizationInterval != nil { _ = synchronize(&state) }
      state.file?.close()
      state.file = nil
    }
  }
}

/// A file that is open for appending, and what it was when it was opened.
private struct OpenFile {
  let descriptor: Int32
  private let identity: System.FileStatus
  /// The size, as far as this process knows.
  var size: Int
  /// When it was last written to, in nanoseconds since 1970.
  private(set) var modified: Int64

  var kind: System.FileStatus.Kind { identity.kind }

  /// Opens the file, and ends a line that a killed process left unfinished in it.
  init(_ path: String, permissions: Int) throws(System.Failure) {
    descriptor = try System.openForAppending(path, permissions: permissions)
    do {
      identity = try System.status(ofDescriptor: descriptor)
      size = identity.size
      modified = identity.modified
      if kind == .regular, try Self.endsInsideLine(path, of: descriptor) {
        var newline = UInt8(ascii: "\n")
        size += try withUnsafeBytes(of: &newline) { bytes throws(System.Failure) in
          try System.write(bytes, to: descriptor)
        }
      }
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  /// Whether the last line lacks its end, and no other process is writing it: a file grows page by page while a write goes on. A
  /// size that is the same before and after all writes that were going on is that of a file to which no process is writing.
  private static func endsInsideLine(_ path: String, of descriptor: Int32) throws(System.Failure) -> Bool {
    var seen: Int?
    for _ in 0..<100 {
      // The file is open for writing alone, and is read by its path: another process may have rotated it away since.
      let status = try System.status(ofDescriptor: descriptor)
      guard let last = System.lastByte(ofPath: path, status), last != UInt8(ascii: "\n") else {
        return false
      }
      if status.size == seen { return true }
      seen = status.size
      System.waitForWrites(to: descriptor)
    }
    return false
  }

  /// Reads the file's status again. `false` if the path does not lead to it any more, or if the descriptor does not: an
  /// app that closes descriptors of others may have reused this one for another file.
  mutating func refresh(at path: String) -> Bool {
    guard let own = try? System.status(ofDescriptor: descriptor), own.isSameFile(as: identity) else {
      return false
    }
    size = own.size
    modified = own.modified
    return isCurrent(at: path)
  }

  func isCurrent(at path: String) -> Bool {
    (try? System.status(ofPath: path))?.isSameFile(as: identity) == true
  }

  /// Closes the descriptor, if it is still that of the file.
  func close() {
    guard let own = try? System.status(ofDescriptor: descriptor), own.isSameFile(as: identity) else { return }
    System.close(descriptor)
  }
}
