import Synchronization
import TapCore

/// The old files of a log: their names, their compression, their number.
///
/// The log's thread removes the excess files, and another thread compresses the others. All processes that
/// write to a file hold a shared lock on it, and a file is compressed and removed under an exclusive one.
final class RotatedFiles: BackgroundJob {
  /// The path of the log's file, which is no link.
  let path: String
  private let folder: String
  private let prefix: String
  private let rotation: LogRotation
  /// Whether what is written survives a loss of power, before what it replaces is removed.
  private let isDurable: Bool
  private let faults: LogFaults
  private let worker = Worker()
  /// The stamp of the newest file that this process has made.
  private let newest = Atomic<Int64>(.min)
  /// The names of those that are kept, oldest first.
  private let kept = Mutex<[String]>([])

  private static let compressedSuffix = ".gz"
  private static let partSuffix = ".gz.part"

  init(path: String, _ rotation: LogRotation, isDurable: Bool = false, _ faults: LogFaults) {
    (self.path, self.rotation, self.isDurable, self.faults) = (path, rotation, isDurable, faults)
    folder = Self.folder(of: path)
    prefix = path.dropFirst(path.contains("/") ? folder.count : 0) + "."
  }

  /// The path of a file's folder, with a slash at its end.
  static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
  }

  /// Where a path's symbolic links lead. `nil` for one that leads to what a process has open: this file is
  /// not the log's to move.
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

  /// Whether the names of old files are longer than the file system allows, which the file's own may not be.
  var hasTooLongNames: Bool {
    System.failure(ofPath: folder + prefix + Self.stamp(0) + Self.partSuffix) == .nameTooLong
  }

  /// Moves the log's file aside. `false` if it is at another path by now, or if another process is moving
  /// one.
  func move(_ file: OpenFile, at time: Timestamp) throws(System.Failure) -> Bool {
    // Not the file, which is locked by all that write to it.
    let lock = try? System.openForReading(folder)
    defer { if let lock { System.close(lock) } }
    guard lock.map({ System.lock($0) }) ?? true, file.isItself(at: path) else { return false }
    // The time, or the next free microsecond.
    let microsecond = time.nanosecondsSinceEpoch / 1_000
    for stamp in microsecond..<microsecond &+ 1_000 {
      let target = folder + prefix + Self.stamp(stamp)
      if isFree(target), isFree(target + Self.compressedSuffix) {
        newest.store(stamp, ordering: .relaxed)
        do throws(System.Failure) {
          try System.rename(path, to: target)
          return true
        } catch {
          // Another process has moved it.
          if error == .missing { return false }
          throw error
        }
      }
    }
    return false
  }

  private func isFree(_ path: String) -> Bool { (try? System.status(ofLinkAtPath: path)) == nil }

  /// Removes the excess files, and compresses the others on a thread. If the system refuses one, the next
  /// rotation tries again.
  func tidy() {
    removeExcess()
    guard rotation.compresses else { return }
    do { try worker.run(self) } catch { faults.failed(.compression, error.text) }
  }

  func removeExcess() {
    faults.attempt(.oldFiles) { () throws(System.Failure) in
      let names = try System.names(inFolder: folder).filter { $0.hasPrefix(prefix) }
      let old = ordered(names.filter { isOld($0) })
      // A copy stands beside its file until that is removed: the two count as one.
      let there = Set(old)
      let files = old.filter { !there.contains($0 + Self.compressedSuffix) }
      let latest = Set(files.suffix(max(0, rotation.keep)))
      let kept = old.filter { latest.contains($0) || latest.contains($0 + Self.compressedSuffix) }
      self.kept.withLock { $0 = kept }
      // What a killed process was compressing, of a file that is gone by now.
      for name in names where name.hasSuffix(Self.partSuffix) {
        let source = String(name.dropLast(Self.partSuffix.count))
        if isOld(source), isFree(folder + source) { System.remove(folder + name) }
      }
      let excess = there.subtracting(kept)
      // One whose compression has ended meanwhile is a copy now, which this look has not seen.
      defer {
        for name in excess where isFree(folder + name) {
          System.remove(folder + name + Self.compressedSuffix)
        }
      }
      try forEach(excess) { path, _ throws(System.Failure) in try remove(path) }
    }
  }

  /// Compresses all but the newest.
  func run(at now: Instant) -> Instant {
    faults.attempt(.compression) { () throws(System.Failure) in
      let names = kept.withLock { $0 }.dropLast().filter { !$0.hasSuffix(Self.compressedSuffix) }
      try forEach(names) { path, name throws(System.Failure) in
        // Once its file is gone, it is the copy that is kept.
        try compress(path) {
          self.kept.withLock { $0.contains(name) || $0.contains(name + Self.compressedSuffix) }
        }
      }
    }
    return .never
  }

  /// Removes an old file, and what a killed process left of its compression.
  private func remove(_ path: String) throws(System.Failure) {
    System.remove(path + Self.partSuffix)
    do throws(System.Failure) { try System.unlink(path) } catch { if error != .missing { throw error } }
  }

  /// The old files, oldest first. A stamp of the future is of a clock that was ahead: the file is the oldest.
  private func ordered(_ names: [String]) -> [String] {
    let names = names.sorted()
    let now = max(Timestamp.now.nanosecondsSinceEpoch / 1_000, newest.load(ordering: .relaxed))
    let future = prefix + Self.stamp(now &+ 1)
    let firstOfFuture = names.firstIndex { $0 >= future } ?? names.endIndex
    return Array(names[firstOfFuture...] + names[..<firstOfFuture])
  }

  /// Whether ``move(_:at:)`` made the name, or compression made it of such a one: no other file of the folder
  /// may be removed.
  private func isOld(_ name: String) -> Bool {
    var stamp = name.dropFirst(prefix.count)
    if stamp.hasSuffix(Self.compressedSuffix) { stamp = stamp.dropLast(Self.compressedSuffix.count) }
    let shape = stamp.utf8.map { $0.isASCIIDigit ? UInt8(ascii: "0") : $0 }
    return name.hasPrefix(prefix) && shape.elementsEqual("00000000T000000.000000Z".utf8)
  }

  /// Calls with the path and the name of each old file that no process writes to or works on, and leaves
  /// others for the next rotation. Throws the last failure, after all of them.
  private func forEach(
    _ names: some Sequence<String>, _ body: (_ path: String, _ name: String) throws(System.Failure) -> Void
  ) throws(System.Failure) {
    var failure: System.Failure?
    for name in names {
      let path = folder + name
      do throws(System.Failure) {
        let file = try System.openForReading(path)
        defer { System.close(file) }
        // Another process may have removed it before it was locked.
        if System.lock(file), regularFile(file, at: path) != nil { try body(path, name) }
      } catch {
        if error != .missing { failure = error }
      }
    }
    if let failure { throw failure }
  }

  /// The file of the descriptor, if it is the one at the path, which is neither a link nor a device.
  private func regularFile(_ descriptor: Int32, at path: String) -> System.FileStatus? {
    guard let own = try? System.status(ofDescriptor: descriptor), own.kind == .regular,
      let there = try? System.status(ofLinkAtPath: path), own.isSameFile(as: there)
    else { return nil }
    return own
  }

  /// Replaces a file by its compressed copy. Removes both if the file is in excess by then.
  private func compress(_ path: String, while isKept: () -> Bool) throws(System.Failure) {
    guard let gzip = Gzip.system else { return }
    let part = path + Self.partSuffix
    let source = try System.openForReading(path)
    defer { System.close(source) }
    let permissions = try System.status(ofDescriptor: source).permissions
    // A killed process may have left one.
    System.remove(part)
    let target = try System.create(part, permissions: permissions)
    defer { System.close(target) }
    System.setPermissions(permissions, of: target)
    var failure: System.Failure?
    let isWhole = gzip.compress(level: 6) { memory in
      do throws(System.Failure) {
        return isKept() ? try System.read(source, into: memory) : nil
      } catch {
        failure = error
        return nil
      }
    } to: { bytes in
      var left = bytes[...]
      while !left.isEmpty {
        do throws(System.Failure) {
          left = left.dropFirst(try System.write(UnsafeRawBufferPointer(rebasing: left), to: target))
        } catch {
          failure = error
          return false
        }
      }
      return true
    }
    do throws(System.Failure) {
      if let failure { throw failure }
      guard isWhole else {
        System.remove(part)
        if !isKept() { try remove(path) }
        return
      }
      if isDurable { try System.synchronize(target) }
      try System.rename(part, to: path + Self.compressedSuffix)
      if isDurable { faults.synchronize(folder: folder) }
      try System.unlink(path)
      if !isKept() { System.remove(path + Self.compressedSuffix) }
    } catch {
      System.remove(part)
      throw error
    }
  }

  /// `20261121T093000.123456Z`: as the timestamps of the lines, without punctuation that some file systems
  /// refuse.
  private static func stamp(_ microsecond: Int64) -> String {
    let (nanoseconds, overflow) = microsecond.multipliedReportingOverflow(by: 1_000)
    let time = Timestamp(nanosecondsSinceEpoch: overflow ? .max : nanoseconds)
    let text = LineWriter.bytes(capacity: 32) { $0.timestamp(time) }
    return String(decoding: text.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }, as: UTF8.self)
  }
}
