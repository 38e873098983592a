import TapLibc

/// The C library, apart from threads (``BackgroundThread``, ``EventCount``) and zlib (``Gzip``).
package enum System {
  /// The monotonic clock, read now (POSIX, `CLOCK_MONOTONIC`).
  static var monotonicNanoseconds: Int64 { nanoseconds(of: CLOCK_MONOTONIC) }
  /// The wall clock, read now: nanoseconds since 1970-01-01T00:00:00Z (POSIX, `CLOCK_REALTIME`).
  static var realTimeNanoseconds: Int64 { nanoseconds(of: CLOCK_REALTIME) }

  /// What the process has taken of all processors.
  static var processorNanoseconds: Int64 { nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) }

  @inline(__always) private static func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// The date in UTC, such as 20261121 (gmtime_r(3)).
  static func date(secondsSinceEpoch seconds: Int64) -> Int64 {
    var (time, date) = (time_t(seconds), tm())
    gmtime_r(&time, &date)
    return (Int64(date.tm_year) + 1_900) * 10_000 + (Int64(date.tm_mon) + 1) * 100 + Int64(date.tm_mday)
  }

  /// The unit of the times under `/proc`.
  static var ticksPerSecond: Int { configuration(Int32(_SC_CLK_TCK)) }
  static var pageSize: Int { configuration(Int32(_SC_PAGESIZE)) }

  private static func configuration(_ name: Int32) -> Int { max(1, sysconf(name)) }

  package struct Failure: Error, Hashable, CustomStringConvertible {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    package static let again = Failure(code: EAGAIN)
    package static let badDescriptor = Failure(code: EBADF)
    package static let noReader = Failure(code: ENXIO)
    package static let missing = Failure(code: ENOENT)
    package static let exists = Failure(code: EEXIST)
    package static let denied = Failure(code: EACCES)
    package static let brokenPipe = Failure(code: EPIPE)
    package static let invalid = Failure(code: EINVAL)

    package var description: String {
      var buffer = [CChar](repeating: 0, count: 256)
      // Not `strerror`, which is not safe in threads.
      guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
      return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "error \(code)" }
    }
  }

  /// Repeats the call while a signal interrupts it (EINTR, POSIX 2.3).
  package static func uninterrupted(_ call: () -> Int) throws(Failure) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { throw Failure(code: errno) }
    }
  }

  /// The working directory; `nil` if it is gone or may not be read.
  package static var workingDirectory: String? {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    return getcwd(&path, path.count).map { String(cString: $0) }
  }

  /// The absolute path; the path itself if the working directory is unknown.
  package static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let workingDirectory else { return path }
    return workingDirectory == "/" ? "/" + path : workingDirectory + "/" + path
  }

  static var processID: Int32 { getpid() }

  static func atExit(_ function: @convention(c) () -> Void) { atexit(function) }

  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

  static func powerOfTwo(_ exponent: Double) -> Double { exp2(exponent) }
}

extension System {
  /// Opens a file for appending. Never blocks, not for a FIFO either.
  package static func openForAppending(_ path: String) throws(Failure) -> Int32 {
    try openForAppending(path, 0, 0)
  }

  /// Makes a file, and opens it for appending. Throws EEXIST if anything is at the path, even a link that
  /// leads nowhere.
  ///
  /// - Parameters:
  ///   - permissions: Reduced by the process's umask, except for the owner's right to write, which another
  ///     opening needs.
  ///   - areExact: They are not reduced.
  package static func create(
    _ path: String, permissions: Int, areExact: Bool = false
  ) throws(Failure) -> Int32 {
    let mode = mode_t(truncatingIfNeeded: permissions)
    let descriptor = try openForAppending(path, O_CREAT | O_EXCL, mode)
    var status = stat()
    if areExact {
      fchmod(descriptor, mode)
    } else if fstat(descriptor, &status) == 0 {
      fchmod(descriptor, status.st_mode & 0o777 | 0o200)
    }
    return descriptor
  }

  private static func openForAppending(
    _ path: String, _ flags: Int32, _ mode: mode_t
  ) throws(Failure) -> Int32 {
    let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags
    return try aboveStandard(
      Int32(truncatingIfNeeded: try uninterrupted { Int(open(path, flags, mode)) }))
  }

  /// Opens a file for reading. Does not block on a pipe or a device.
  package static func openForReading(_ path: String) throws(Failure) -> Int32 {
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    return Int32(truncatingIfNeeded: try uninterrupted { Int(open(path, flags)) })
  }

  /// The descriptor, or a duplicate of it above 2. In a process that was started with closed standard
  /// streams, the first files opened get their numbers, and what the app prints would land there.
  package static func aboveStandard(_ descriptor: Int32) throws(Failure) -> Int32 {
    guard (0...2).contains(descriptor) else { return descriptor }
    defer { close(descriptor) }
    return Int32(truncatingIfNeeded: try uninterrupted { Int(fcntl(descriptor, F_DUPFD_CLOEXEC, 3)) })
  }

  /// Closes a descriptor. Not repeated after EINTR: on Linux the descriptor is gone by then.
  package static func close(_ descriptor: Int32) { _ = TapLibc.close(descriptor) }

  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(Failure) -> Int {
    try uninterrupted { TapLibc.write(descriptor, bytes.baseAddress, bytes.count) }
  }

  /// Throws if a descriptor is not open for writing, as a write would.
  package static func checkWritable(_ descriptor: Int32) throws(Failure) {
    let flags = try uninterrupted { Int(fcntl(descriptor, F_GETFL)) }
    if flags & Int(O_ACCMODE) == Int(O_RDONLY) { throw .badDescriptor }
  }

  /// Waits until a descriptor takes bytes or fails, at most so many milliseconds.
  package static func waitUntilWritable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, milliseconds) != 0
  }

  /// The file at a path or of a descriptor.
  package struct FileStatus: Hashable {
    private let device: UInt64
    private let inode: UInt64
    package let size: Int
    /// Who may read, write and execute it: nine bits.
    package let permissions: Int
    package let kind: Kind

    package enum Kind { case regular, pipe, blockDevice, other }

    fileprivate init(_ status: stat) {
      device = UInt64(truncatingIfNeeded: status.st_dev)
      inode = UInt64(truncatingIfNeeded: status.st_ino)
      size = Int(truncatingIfNeeded: status.st_size)
      permissions = Int(status.st_mode & 0o777)
      kind =
        switch status.st_mode & S_IFMT {
        case S_IFREG: .regular
        case S_IFIFO: .pipe
        case S_IFBLK: .blockDevice
        default: .other
        }
    }

    /// Whether both are one file, whatever its size.
    package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }

    package func isOnSameFileSystem(as other: FileStatus) -> Bool { device == other.device }
  }

  package static func status(ofDescriptor descriptor: Int32) throws(Failure) -> FileStatus {
    try status { fstat(descriptor, &$0) }
  }

  package static func status(ofPath path: String) throws(Failure) -> FileStatus {
    try status { stat(path, &$0) }
  }

  /// Does not follow a symbolic link at the path.
  package static func status(ofLinkAtPath path: String) throws(Failure) -> FileStatus {
    try status { lstat(path, &$0) }
  }

  /// Where a symbolic link leads, or `nil` if none is at the path.
  package static func destination(ofLinkAtPath path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  private static func status(_ read: (inout stat) -> Int32) throws(Failure) -> FileStatus {
    var status = stat()
    _ = try uninterrupted { Int(read(&status)) }
    return FileStatus(status)
  }

  /// The bytes of a file. Throws also if it has more than `limit` (EFBIG). Does not block on a pipe or a
  /// device.
  package static func contents(ofPath path: String, limit: Int) throws(Failure) -> [UInt8] {
    let descriptor = try openForReading(path)
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = try uninterrupted {
        chunk.withUnsafeMutableBytes { TapLibc.read(descriptor, $0.baseAddress, $0.count) }
      }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
      if bytes.count > limit { throw Failure(code: EFBIG) }
    }
  }

  /// The last byte of a file at a path, or `nil` if it is empty, may not be read, or if another file is at
  /// the path by now.
  package static func lastByte(ofPath path: String, _ file: FileStatus) -> UInt8? {
    guard file.size > 0, let descriptor = try? openForReading(path) else { return nil }
    defer { close(descriptor) }
    guard (try? status(ofDescriptor: descriptor))?.isSameFile(as: file) == true else { return nil }
    var byte: UInt8 = 0
    return pread(descriptor, &byte, 1, off_t(file.size - 1)) == 1 ? byte : nil
  }

  /// Waits until what was written survives a loss of power.
  package static func synchronize(_ descriptor: Int32) throws(Failure) {
    _ = try uninterrupted { Int(fsync(descriptor)) }
  }

  package static func rename(_ path: String, to newPath: String) throws(Failure) {
    _ = try uninterrupted { Int(TapLibc.rename(path, newPath)) }
  }

  /// Removes a file. `missing` if there is none.
  package static func unlink(_ path: String) throws(Failure) {
    _ = try uninterrupted { Int(TapLibc.unlink(path)) }
  }

  /// The names in a folder but for `.` and `..`, in no order.
  package static func names(inFolder path: String) throws(Failure) -> [String] {
    guard let folder = opendir(path) else { throw Failure(code: errno) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
