import TapCore

/// The file that a log writes to.
struct OpenFile {
  let descriptor: Int32
  private let identity: System.FileStatus
  /// The size, as far as this process knows.
  var size: Int
  /// When it was last written to, in nanoseconds since 1970.
  private(set) var modified: Int64

  var kind: System.FileStatus.Kind { identity.kind }

  /// Opens the file at the path, and ends a line that a killed process left unfinished in it.
  ///
  /// The file stays locked, together with all that write to it, until it is closed: a process that compresses
  /// or removes it wants it for itself (``RotatedFiles``).
  ///
  /// - Parameters:
  ///   - permissions: Those of a new file, less the process's umask.
  ///   - areExact: Whether the umask is left out of account.
  static func open(
    _ path: String, permissions: Int, areExact: Bool = false
  ) throws(System.Failure) -> OpenFile {
    var attempts = 10
    while true {
      attempts -= 1
      let (descriptor, isNew) = try openOrCreate(path, permissions: permissions)
      do {
        var file = OpenFile(descriptor, try System.status(ofDescriptor: descriptor))
        if file.kind != .regular { return file }
        _ = System.lock(descriptor, isShared: true)
        // What has been rotated before it was locked may be gone.
        if file.isCurrent(at: path) || attempts == 0 {
          if areExact, isNew { System.setPermissions(permissions, of: descriptor) }
          try file.endLine(path)
          return file
        }
      } catch {
        System.close(descriptor)
        throw error
      }
      System.close(descriptor)
    }
  }

  private static func openOrCreate(
    _ path: String, permissions: Int
  ) throws(System.Failure) -> (descriptor: Int32, isNew: Bool) {
    do { return (try System.openForAppending(path), false) } catch { if error != .missing { throw error } }
    // A file is made at the end of the links that lead to it.
    guard let target = RotatedFiles.target(of: path) else { throw .missing }
    do { return (try System.create(target, permissions: permissions), true) } catch {
      if error != .exists { throw error }
    }
    // Another process has made it meanwhile, with permissions of its own.
    return (try System.openForAppending(path), false)
  }

  private init(_ descriptor: Int32, _ status: System.FileStatus) {
    (self.descriptor, identity, size, modified) = (descriptor, status, status.size, status.modified)
  }

  private mutating func endLine(_ path: String) throws(System.Failure) {
    guard try Self.endsInsideLine(path, of: descriptor) else { return }
    var newline = UInt8(ascii: "\n")
    size += try withUnsafeBytes(of: &newline) { bytes throws(System.Failure) in
      try System.write(bytes, to: descriptor)
    }
    // The file's last line is as old as before: its age decides whether a rotation is due.
    System.setModified(modified, of: descriptor)
  }

  /// Whether the last line lacks its end, and no other process is writing it: a file grows page by page while
  /// a write goes on. A size that is the same before and after all writes that were going on is that of a
  /// file to which no process is writing.
  private static func endsInsideLine(_ path: String, of descriptor: Int32) throws(System.Failure) -> Bool {
    var seen: Int?
    for _ in 0..<100 {
      // The file is open for writing alone, and is read by its path: another process may have rotated it away
      // since.
      let status = try System.status(ofDescriptor: descriptor)
      guard let last = System.lastByte(ofPath: path, status), last != UInt8(ascii: "\n") else { return false }
      if status.size == seen { return true }
      seen = status.size
      System.waitForWrites(to: descriptor)
    }
    return false
  }

  /// The file as it is now. `nil` if the descriptor is not that of the file any more: an app that closes
  /// descriptors of others may have reused it for another file.
  var status: System.FileStatus? {
    guard let own = try? System.status(ofDescriptor: descriptor), own.isSameFile(as: identity) else {
      return nil
    }
    return own
  }

  /// Reads the file's status again. `false` if the path or the descriptor does not lead to it any more.
  mutating func refresh(at path: String) -> Bool {
    guard let status else { return false }
    (size, modified) = (status.size, status.modified)
    return isCurrent(at: path)
  }

  private func isCurrent(at path: String) -> Bool {
    (try? System.status(ofPath: path))?.isSameFile(as: identity) == true
  }

  /// Whether the path is that of the file itself, and not of a link to it.
  func isItself(at path: String) -> Bool {
    (try? System.status(ofLinkAtPath: path))?.isSameFile(as: identity) == true
  }

  func close() { if status != nil { System.close(descriptor) } }
}
