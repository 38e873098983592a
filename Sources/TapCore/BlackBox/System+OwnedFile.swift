import TapLibc
import TapLinux

extension System {
  /// A file that this user alone may read, in memory (tmpfs), locked by this process.
  struct OwnedFile: Sendable {
    /// Open for reading, with the lock.
    let descriptor: Int32
    private(set) var descriptorForWriting: Int32
    private let process = System.processID

    /// Opens or makes it. A link, a pipe or another user's file is refused, and none of them is changed.
    init(path: String) throws(BlackBoxError) {
      for _ in 0..<10 {
        let (descriptor, isNew) = try Self.open(path)
        do {
          try Self.check(descriptor)
          try Self.lock(descriptor)
          // Others may have removed or replaced it before it was locked.
          guard let writable = try Self.openForWriting(path, as: descriptor) else {
            System.close(descriptor)
            continue
          }
          (self.descriptor, descriptorForWriting) = (descriptor, writable)
          return
        } catch {
          if isNew { try? System.unlink(path) }
          System.close(descriptor)
          throw error
        }
      }
      throw .isUnstable
    }

    /// Opens it for reading, and makes it first if there is none.
    private static func open(_ path: String) throws(BlackBoxError) -> (descriptor: Int32, isNew: Bool) {
      let flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
      do throws(System.Failure) {
        do throws(System.Failure) {
          return (try System.open(path, O_RDONLY | flags), false)
        } catch  where error == .missing {
          return (try System.open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0o600), true)
        }
      } catch {
        if error.code == ELOOP { throw .isNoFile }
        if error == .exists { return try open(path) }
        throw .cannotOpen(error)
      }
    }

    private static func check(_ descriptor: Int32) throws(BlackBoxError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .cannotOpen(System.Failure(code: errno)) }
      guard status.st_mode & S_IFMT == S_IFREG else { throw .isNoFile }
      guard status.st_uid == geteuid() else { throw .isOfAnotherUser }
      guard status.st_mode & 0o022 == 0, status.st_nlink <= 1 else { throw .isShared }
      guard System.isInMemory(descriptor) else { throw .isOnDisk }
    }

    /// A command that looks at the file has a lock for some microseconds, and so has a child that was about
    /// to become another program when its parent was killed.
    private static func lock(_ descriptor: Int32) throws(BlackBoxError) {
      for _ in 0..<25 {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
        usleep(4_000)
      }
      let beginning = try? System.beginning(of: descriptor, count: BlackBoxHeader.size)
      throw .isInUse(processID: (try? beginning.flatMap { try BlackBoxHeader($0) })?.processID)
    }

    /// `nil` if another file is at the path by now.
    private static func openForWriting(_ path: String, as descriptor: Int32) throws(BlackBoxError) -> Int32? {
      // Its owner may not write to it while it is mapped.
      fchmod(descriptor, 0o600)
      let writable: Int32
      do { writable = try System.open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) } catch {
        if error == .missing || error.code == ELOOP { return nil }
        throw .cannotOpen(error)
      }
      let (file, atPath) = (try? status(ofDescriptor: descriptor), try? status(ofDescriptor: writable))
      if let file, let atPath, file.isSameFile(as: atPath) { return writable }
      System.close(writable)
      return nil
    }

    func write(_ number: Int64, at place: Int) {
      withUnsafeBytes(of: number) { bytes in
        _ = pwrite(descriptorForWriting, bytes.baseAddress, bytes.count, off_t(place))
      }
    }

    /// Makes the file read-only. Only root, or its owner after a `chmod`, can write to it or cut it.
    mutating func endWriting() {
      System.close(descriptorForWriting)
      descriptorForWriting = -1
      fchmod(descriptor, 0o400)
    }

    func close() {
      // A forked child has closed its own (``SharedMapping``), and uses their numbers for other files.
      guard process == System.processID else { return }
      // A child that is about to become another program has the lock too until then.
      flock(descriptor, LOCK_UN)
      if descriptorForWriting >= 0 { System.close(descriptorForWriting) }
      System.close(descriptor)
    }
  }

  private static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) throws(Failure) -> Int32 {
    try aboveStandard(Int32(truncatingIfNeeded: try uninterrupted { Int(TapLibc.open(path, flags, mode)) }))
  }

  /// Whether another process has locked the file.
  static func isLocked(_ descriptor: Int32) -> Bool {
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 {
      flock(descriptor, LOCK_UN)
      return false
    }
    return errno == EWOULDBLOCK
  }

  /// The first bytes of a file, or all that it has.
  static func beginning(of descriptor: Int32, count: Int) throws(Failure) -> [UInt8] {
    var (bytes, end) = ([UInt8](repeating: 0, count: count), 0)
    while end < count {
      let read = try uninterrupted {
        bytes.withUnsafeMutableBytes {
          pread(descriptor, $0.baseAddress.map { $0 + end }, count - end, off_t(end))
        }
      }
      if read == 0 { break }
      end += read
    }
    bytes.removeLast(count - end)
    return bytes
  }

  #if os(Linux)
    /// Whether the file is on a tmpfs (statfs(2), `TMPFS_MAGIC`).
    fileprivate static func isInMemory(_ descriptor: Int32) -> Bool {
      withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { status in
        // Its first member is the type.
        guard let start = status.baseAddress, tapFileSystemStatus(descriptor, start) == 0 else {
          return false
        }
        return start.load(as: UInt32.self) == 0x0102_1994
      }
    }

    /// Gives a file its size and its space.
    static func reserve(_ size: Int, of descriptor: Int32) throws(Failure) {
      // A signal would end the process (SIGXFSZ, setrlimit(2)).
      var limit = rlimit()
      #if canImport(Glibc)
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      #else
        getrlimit(RLIMIT_FSIZE, &limit)
      #endif
      if limit.rlim_cur < rlim_t(size) { throw Failure(code: ENOSPC) }
      while true {
        let code = posix_fallocate(descriptor, 0, off_t(size))
        if code == 0 { return }
        if code != EINTR { throw Failure(code: code) }
      }
    }

    /// Maps a file, with all its pages, so that the first store into each takes no longer than others.
    static func mapShared(_ descriptor: Int32, _ size: Int) throws(Failure) -> UnsafeMutableRawPointer {
      try mapped(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0))
    }

    /// Puts memory of the process alone in the place of other memory, at once for all threads. `false` if the
    /// system refuses it.
    static func mapAnonymous(at memory: UnsafeMutableRawPointer, _ size: Int) -> Bool {
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE
      return (try? mapped(mmap(memory, size, PROT_READ | PROT_WRITE, flags, -1, 0))) != nil
    }

    private static func mapped(_ memory: UnsafeMutableRawPointer?) throws(Failure) -> UnsafeMutableRawPointer
    {
      // MAP_FAILED is -1.
      guard let memory, UInt(bitPattern: memory) != .max else { throw Failure(code: errno) }
      return memory
    }
  #else
    fileprivate static func isInMemory(_ descriptor: Int32) -> Bool { false }
    static func reserve(_ size: Int, of descriptor: Int32) throws(Failure) { throw .invalid }
    static func mapShared(_ descriptor: Int32, _ size: Int) throws(Failure) -> UnsafeMutableRawPointer {
      throw .invalid
    }
    static func mapAnonymous(at memory: UnsafeMutableRawPointer, _ size: Int) -> Bool { false }
  #endif
}
