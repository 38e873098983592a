#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The system calls of the log, with their results as values.
enum System {
  /// An `errno`.
  struct Failure: Error, Hashable {
    let code: Int32

    static let again = Failure(code: EAGAIN)
    static let badDescriptor = Failure(code: EBADF)
    static let noReader = Failure(code: ENXIO)
    static let missing = Failure(code: ENOENT)
    static let denied = Failure(code: EACCES)
    static let isDirectory = Failure(code: EISDIR)
    static let readOnly = Failure(code: EROFS)
    static let noSpace = Failure(code: ENOSPC)
    static let tooManyFiles = Failure(code: EMFILE)
    static let brokenPipe = Failure(code: EPIPE)
    static let nameTooLong = Failure(code: ENAMETOOLONG)

    /// The failure of the last call of this thread.
    static var last: Failure { Failure(code: errno) }

    /// The system's description.
    var text: String {
      var buffer = [CChar](repeating: 0, count: 256)
      // Not `strerror`, which is not safe in threads.
      guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
      return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "error \(code)" }
    }
  }

  /// Repeats a call that a signal interrupts (EINTR, POSIX 2.3).
  static func uninterrupted(_ call: () -> Int) throws(Failure) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      let failure = Failure.last
      if failure.code != EINTR { throw failure }
    }
  }

  /// Opens a file for appending, and creates it if it does not exist. Never blocks, not for the reader of a FIFO either.
  static func openForAppending(_ path: String, permissions: Int) throws(Failure) -> Int32 {
    let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    let mode = mode_t(truncatingIfNeeded: permissions)
    return Int32(truncatingIfNeeded: try uninterrupted { Int(open(path, flags, mode)) })
  }

  /// Throws if a descriptor is not open for writing, as a write would.
  static func checkWritable(_ descriptor: Int32) throws(Failure) {
    let flags = try uninterrupted { Int(fcntl(descriptor, F_GETFL)) }
    if flags & Int(O_ACCMODE) == Int(O_RDONLY) { throw .badDescriptor }
  }

  /// Opens a file for reading; -1 if it cannot be.
  static func openForReading(_ path: String) -> Int32 {
    open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
  }

  static func read(
    _ descriptor: Int32, into memory: UnsafeMutableRawPointer, count: Int
  ) throws(Failure) -> Int {
    try uninterrupted { callRead(descriptor, memory, count) }
  }

  static func close(_ descriptor: Int32) {
    // Not repeated after EINTR: on Linux the descriptor is gone by then.
    callClose(descriptor)
  }

  /// Writes both pieces in one call, and returns the number of written bytes.
  static func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, to descriptor: Int32
  ) throws(Failure) -> Int {
    var pieces = (
      iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count),
      iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
    )
    return try uninterrupted {
      withUnsafeBytes(of: &pieces) {
        writev(descriptor, $0.assumingMemoryBound(to: iovec.self).baseAddress, second.isEmpty ? 1 : 2)
      }
    }
  }

  /// Waits until a descriptor takes bytes or fails, at most so many milliseconds.
  static func waitUntilWritable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, milliseconds) != 0
  }

  /// Memory of another size with the content of the given one, which is freed; `nil` if there is none. Swift's
  /// `allocate` would end the process then.
  static func reallocate(_ memory: UnsafeMutableRawPointer?, byteCount: Int) -> UnsafeMutableRawPointer? {
    realloc(memory, byteCount)
  }

  static func free(_ memory: UnsafeMutableRawPointer?) {
    callFree(memory)
  }

  /// The file at a path or of a descriptor.
  struct FileStatus: Hashable {
    let device: UInt64
    let inode: UInt64
    let size: Int
    /// When it was last written to, in nanoseconds since 1970.
    let modified: Int64
    let kind: Kind

    enum Kind { case regular, pipe, socket, blockDevice, other }

    fileprivate init(_ status: stat) {
      device = UInt64(truncatingIfNeeded: status.st_dev)
      inode = UInt64(truncatingIfNeeded: status.st_ino)
      size = Int(truncatingIfNeeded: status.st_size)
      #if canImport(Darwin)
        let time = status.st_mtimespec
      #else
        let time = status.st_mtim
      #endif
      modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
      kind =
        switch status.st_mode & S_IFMT {
        case S_IFREG: .regular
        case S_IFIFO: .pipe
        case S_IFSOCK: .socket
        case S_IFBLK: .blockDevice
        default: .other
        }
    }

    /// Whether both are one file, whatever its size.
    func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
  }

  static func status(ofDescriptor descriptor: Int32) throws(Failure) -> FileStatus {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .last }
    return FileStatus(status)
  }

  static func status(ofPath path: String) throws(Failure) -> FileStatus {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last }
    return FileStatus(status)
  }

  /// The last byte of a file, or `nil` if it is empty or may not be read.
  static func lastByte(ofPath path: String, size: Int) -> UInt8? {
    guard size > 0 else { return nil }
    let descriptor = openForReading(path)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var byte: UInt8 = 0
    return pread(descriptor, &byte, 1, off_t(size - 1)) == 1 ? byte : nil
  }

  /// Waits for the writes to a file that are going on, in any process. Linux writes under the lock of the inode, and takes the same
  /// lock to change the owner, also where nothing is changed (`chown_common` in its `fs/open.c`).
  static func waitForWrites(to descriptor: Int32) {
    _ = fchown(descriptor, uid_t.max, gid_t.max)
  }

  /// Makes what has been written survive a loss of power.
  static func synchronize(_ descriptor: Int32) throws(Failure) {
    _ = try uninterrupted { Int(fsync(descriptor)) }
  }

  /// Puts a file in the place of another, or of none.
  static func rename(_ path: String, to newPath: String) throws(Failure) {
    guard callRename(path, newPath) == 0 else { throw .last }
  }

  static func remove(_ path: String) { _ = unlink(path) }

  /// Locks a file against other processes that lock it too, for as long as the descriptor is open. Does not block.
  static func lock(_ descriptor: Int32) -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  static func unlock(_ descriptor: Int32) { _ = flock(descriptor, LOCK_UN) }

  /// The names in a folder, in no order. None if it cannot be read.
  static func names(inFolder path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
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

// The calls whose names the methods above hide.
private func callRead(_ descriptor: Int32, _ memory: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(descriptor, memory, count)
}
private func callClose(_ descriptor: Int32) { _ = close(descriptor) }
private func callFree(_ memory: UnsafeMutableRawPointer?) { free(memory) }
private func callRename(_ path: String, _ newPath: String) -> Int32 { rename(path, newPath) }
