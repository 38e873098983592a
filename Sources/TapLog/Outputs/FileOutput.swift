import TapCore

/// Appends to the file at a path, and follows the path: when the file is moved away, removed or replaced, or
/// the descriptor is not that of the file any more, the next write reopens the path.
struct FileOutput: LogOutput {
  private let path: String
  private let rotation: LogRotation?
  private let synchronizationInterval: Duration?
  private let faults: LogFaults
  private var file: OpenFile?
  /// Those of the next file: of the last one. The first is not for all users, because even a redacted log is
  /// not, and has them less the process's umask.
  private var permissions = (0o640, areExact: false)
  private var absentUntil: Instant?
  /// The time of the first write that has not been made durable.
  private var unsynchronizedSince: Instant?

  /// How long the path may lead to no file before the file is created. `logrotate` moves a file away and
  /// creates the next one itself (`create`); it moves a file aside that is there before.
  private static let absenceLimit = Duration.milliseconds(250)
  private static let absencePause = Duration.milliseconds(1)

  /// Opens the file. A FIFO without a reader is no error: the reader may come later.
  init(_ path: String, _ configuration: RequestLog.Configuration, _ faults: LogFaults) throws(RequestLogError)
  {
    func refusal(_ reason: String) -> RequestLogError { .cannotOpen(path: path, because: reason) }
    // A path goes to the system as a C string, which ends there: it would be another file's.
    if path.utf8.contains(0) { throw refusal("it has a NUL in it; choose a path without one") }
    if path.isEmpty { throw refusal("the path is empty; name a file") }
    // It is looked up again before each write, when the app may have changed its directory.
    (self.path, self.faults, rotation) = (System.absolute(path), faults, configuration.rotation)
    synchronizationInterval = configuration.synchronizationInterval
    do {
      try open()
    } catch {
      guard error == .noReader else { throw .cannotOpen(path: path, error) }
      // A FIFO without a reader; but also a Unix socket, and a device without a driver (open(2), ENXIO).
      guard (try? System.status(ofPath: path).kind) == .pipe else {
        throw refusal("it is a socket, or a device that is not there; choose another path")
      }
    }
    if file?.kind == .blockDevice {
      close()
      throw refusal("it is a block device; choose a path where this process can append to a file")
    }
  }

  /// A FIFO without a reader is known by its path.
  var identity: System.FileStatus? { file?.status ?? (try? System.status(ofPath: path)) }

  mutating func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let torn = leaveStaleFile(&batch)
    var result = append(&batch)
    result.dropped += torn
    return result
  }

  private mutating func append(_ batch: inout LineBuffer) -> LogOutputResult {
    if batch.isEmpty { return LogOutputResult() }
    if file == nil {
      if let pause = awaitPath() { return .busy(pause) }
      do { try open() } catch { return .failed(RequestLogError.advice(on: error)) }
    }
    let capacity = capacity(for: batch)
    guard let file else { return .failed("it is closed") }
    let result = batch.write(
      to: file.descriptor, isFile: true, isStream: file.kind != .regular, capacity: capacity)
    self.file?.size += result.bytes
    if result.bytes > 0, unsynchronizedSince == nil { unsynchronizedSince = .now }
    // The reader has gone. The next one may open another pipe or device at the same path.
    if result.isFailed, file.kind != .regular { leaveFile() }
    return result
  }

  /// How many bytes the file takes. If it is time for a new one, it is moved aside first.
  private mutating func capacity(for batch: LineBuffer) -> Int {
    guard let rotation, let file, file.kind == .regular else { return .max }
    // The rest of a line stays with its beginning.
    if batch.isFirstTorn { return batch.firstLength }
    let next = batch.firstLength
    if let left = rotation.capacity(size: file.size, next: next) { return left }
    rotate(file, by: rotation)
    return max(next, rotation.maximumSize)
  }

  /// Moves the file aside and opens the next one. If either fails, the old one goes on.
  private mutating func rotate(_ file: OpenFile, by rotation: LogRotation) {
    guard let old = RotatedFiles(ofLogAt: path) else { return }
    synchronize()
    faults.attempt(.rotation) {
      // Another log of the same path may have moved it, and begun the next.
      let newest = file.isAt(path) ? try old.moveLog(at: .now) : nil
      keepPermissions()
      try open()
      file.close()
      guard let newest else { return }
      faults.attempt(.oldFiles) {
        try old.removeExcess(by: rotation, newest: newest)
      }
    }
  }

  private mutating func open() throws(System.Failure) {
    let next = try OpenFile(path, permissions: permissions.0, areExact: permissions.areExact)
    file = next
    if synchronizationInterval != nil, next.kind == .regular, let target = FilePath.target(of: path) {
      faults.synchronize(folder: FilePath.folder(of: target))
    }
  }

  /// Closes a file that is not the one at the path any more. Returns the number of lines that could not be
  /// finished.
  private mutating func leaveStaleFile(_ batch: inout LineBuffer) -> UInt64 {
    guard let size = file?.size else { return 0 }
    let isCurrent = file?.refresh(at: path) == true
    // Drops the rest of a line whose start is in another file, or was truncated away.
    let isChanged = !isCurrent || file?.kind == .regular && file?.size != size
    let isTorn = batch.isFirstTorn && isChanged
    if isTorn { batch.removeFirst() }
    if !isCurrent { leaveFile() }
    return isTorn ? 1 : 0
  }

  private mutating func leaveFile() {
    synchronize()
    keepPermissions()
    file?.close()
    file = nil
  }

  /// The next file gets those that its operator has given to this one.
  private mutating func keepPermissions() {
    if let status = file?.status, status.kind == .regular {
      permissions = (status.permissions | 0o200, areExact: true)
    }
  }

  /// How long to wait for another process to put a file at the path, or `nil` if it is there or the wait is
  /// over.
  private mutating func awaitPath() -> Duration? {
    let now = Instant.now
    let end = absentUntil ?? now.advanced(by: Self.absenceLimit)
    let waits = (try? System.status(ofPath: path)) == nil && now < end
    absentUntil = waits ? end : nil
    return waits ? Self.absencePause : nil
  }

  mutating func flush() { synchronize() }

  mutating func maintain(now: Instant) -> Instant {
    guard let synchronizationInterval, let unsynchronizedSince else { return .never }
    let due = unsynchronizedSince.advanced(by: synchronizationInterval)
    guard now >= due else { return due }
    synchronize()
    return .never
  }

  /// Makes what has been written durable, if the log is configured so.
  private mutating func synchronize() {
    guard synchronizationInterval != nil, unsynchronizedSince != nil else { return }
    unsynchronizedSince = nil
    // Not a descriptor that belongs to another file by now.
    if let file, file.status?.kind == .regular { faults.synchronize(file.descriptor) }
  }

  mutating func close() { leaveFile() }
}
