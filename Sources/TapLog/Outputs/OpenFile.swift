import TapCore

struct OpenFile {
  let descriptor: Int32
  private let identity: System.FileStatus
  /// The size, as far as this process knows.
  var size: Int

  var kind: System.FileStatus.Kind { identity.kind }

  /// Opens the file at the path, and ends a line that a killed process left unfinished in it.
  ///
  /// - Parameters:
  ///   - permissions: Those of a new file, less the process's umask.
  ///   - areExact: Whether the umask is left out of account.
  init(_ path: String, permissions: Int, areExact: Bool = false) throws(System.Failure) {
    descriptor = try Self.openOrCreate(path, permissions, areExact)
    do throws(System.Failure) {
      identity = try System.status(ofDescriptor: descriptor)
      size = identity.size
      if kind == .regular { try endLine(path) }
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  private mutating func endLine(_ path: String) throws(System.Failure) {
    // The file is open for writing alone, and is read by its path.
    var newline = UInt8(ascii: "\n")
    guard let last = System.lastByte(ofPath: path, identity), last != newline else { return }
    size += try withUnsafeBytes(of: &newline) { bytes throws(System.Failure) in
      try System.write(bytes, to: descriptor)
    }
  }

  private static func openOrCreate(
    _ path: String, _ permissions: Int, _ areExact: Bool
  ) throws(System.Failure) -> Int32 {
    do { return try System.openForAppending(path) } catch { if error != .missing { throw error } }
    // A file is made at the end of the links that lead to it.
    guard let target = FilePath.target(of: path) else { throw .missing }
    do { return try System.create(target, permissions: permissions, areExact: areExact) } catch {
      if error != .exists { throw error }
    }
    // Another process has made it meanwhile, with permissions of its own.
    return try System.openForAppending(path)
  }

  /// The file as it is now. `nil` if the descriptor is not that of the file any more: an app that closes
  /// descriptors of others may have reused it for another file.
  var status: System.FileStatus? {
    guard let own = try? System.status(ofDescriptor: descriptor), own.isSameFile(as: identity) else {
      return nil
    }
    return own
  }

  /// Reads the file's size again. `false` if the path or the descriptor does not lead to it any more.
  mutating func refresh(at path: String) -> Bool {
    guard let status else { return false }
    size = status.size
    return isAt(path)
  }

  func isAt(_ path: String) -> Bool {
    (try? System.status(ofPath: path))?.isSameFile(as: identity) == true
  }

  func close() { if status != nil { System.close(descriptor) } }
}

enum FilePath {
  /// The path of a file's folder, with a slash at its end.
  static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
  }

  /// The end of a path's symbolic links. `nil` for one that leads to what a process has open.
  static func target(of path: String) -> String? {
    var path = path
    // As many as Linux follows (path_resolution(7)).
    for _ in 0..<40 {
      guard let destination = System.destination(ofLinkAtPath: path) else { return path }
      let (link, processes) = (try? System.status(ofLinkAtPath: path), try? System.status(ofPath: "/proc"))
      if let link, let processes, link.isOnSameFileSystem(as: processes) { return nil }
      path = destination.hasPrefix("/") ? destination : folder(of: path) + destination
    }
    return nil
  }
}
