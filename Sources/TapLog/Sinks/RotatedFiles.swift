import Synchronization
import TapCore

/// The old files of a log: their names, their compression, their number.
///
/// A thread of their own works on them. Safe from any thread. All processes that write to a file hold a shared lock on it, and a
/// file is compressed and removed under an exclusive one.
final class RotatedFiles: BackgroundJob {
  /// The path of the log's file, which is no link.
  let path: String
  private let folder: String
  private let prefix: String
  private let permissions: Int
  private let rotation: LogRotation
  private let worker = Worker()
  /// The stamp of the newest file that this process has made.
  private let newest = Atomic<Int64>(.min)

  private static let compressedSuffix = ".gz"
  private static let partSuffix = ".part"

  init(path: String, permissions: Int, rotation: LogRotation) {
    (self.path, self.permissions, self.rotation) = (path, permissions, rotation)
    folder = Self.folder(of: path)
    prefix = path.dropFirst(path.lastIndex(of: "/") == nil ? 0 : folder.count) + "."
  }

  /// The old files beside the one to which the log's path leads. `nil` without rotation, and where a link leads to what a process
  /// has open: this file is not the log's to move.
  convenience init?(ofLogAt path: String, permissions: Int, _ rotation: LogRotation?) {
    guard let rotation else { return nil }
    var path = path
    // As many as Linux follows (path_resolution(7)).
    for _ in 0..<40 {
      guard let destination = System.destination(ofLinkAtPath: path) else {
        self.init(path: path, permissions: permissions, rotation: rotation)
        return
      }
      let (link, processes) = (try? System.status(ofLinkAtPath: path), try? System.status(ofPath: "/proc"))
      if let link, let processes, link.isOnSameFileSystem(as: processes) { return nil }
      path = destination.hasPrefix("/") ? destination : Self.folder(of: path) + destination
    }
    return nil
  }

  /// The path of a file's folder, with a slash at its end.
  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
  }

  /// Whether the names of old files are longer than the file system allows, which the file's own may not be.
  var hasTooLongNames: Bool {
    let path = "\(folder)\(prefix)\(Self.stamp(0))\(Self.compressedSuffix)\(Self.partSuffix)"
    return System.failure(ofPath: path) == .nameTooLong
  }

  /// Moves the log's file aside. `false` if it is at another path by now, or if another process is moving one.
  func move(_ file: OpenFile, at time: Timestamp) -> Bool {
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
        return (try? System.rename(path, to: target)) != nil
      }
    }
    return false
  }

  private func isFree(_ path: String) -> Bool { (try? System.status(ofLinkAtPath: path)) == nil }

  /// Starts to compress and remove old files. Where the system gives no thread, the next rotation tries again.
  func tidy() { try? worker.run(self) }

  func run(at now: Instant) -> Instant {
    let names = rotatedNames()
    for name in names.dropLast(max(0, rotation.keep)) { withClaim(on: folder + name) { System.remove($0) } }
    guard rotation.compresses else { return .never }
    for name in names.suffix(max(0, rotation.keep)).dropLast() where !name.hasSuffix(Self.compressedSuffix) {
      withClaim(on: folder + name) { compress($0) }
    }
    return .never
  }

  /// The old files, oldest first. A stamp of the future is of a clock that was ahead: the file is the oldest.
  private func rotatedNames() -> [String] {
    let names = (System.names(inFolder: folder) ?? []).filter { name in
      guard name.hasPrefix(prefix) else { return false }
      var stamp = name.dropFirst(prefix.count)
      if stamp.hasSuffix(Self.compressedSuffix) { stamp = stamp.dropLast(Self.compressedSuffix.count) }
      return Self.isStamp(stamp)
    }.sorted()
    let now = max(Timestamp.now.nanosecondsSinceEpoch / 1_000, newest.load(ordering: .relaxed))
    let future = prefix + Self.stamp(now &+ 1)
    let firstOfFuture = names.firstIndex { $0 >= future } ?? names.endIndex
    return Array(names[firstOfFuture...] + names[..<firstOfFuture])
  }

  /// Calls with the path of an old file that no process writes to or works on, and leaves others for the next rotation.
  private func withClaim(on path: String, _ body: (String) -> Void) {
    guard let file = try? System.openForAppending(path, permissions: nil) else { return }
    defer { System.close(file) }
    // Another process may have removed it before it was locked.
    guard System.lock(file), isRegular(file, at: path) else { return }
    body(path)
  }

  /// Whether the descriptor is of the file at the path, which is neither a link nor a device.
  private func isRegular(_ descriptor: Int32, at path: String) -> Bool {
    guard let own = try? System.status(ofDescriptor: descriptor), own.kind == .regular,
      let there = try? System.status(ofLinkAtPath: path)
    else { return false }
    return own.isSameFile(as: there)
  }

  private func compress(_ path: String) {
    let part = path + Self.compressedSuffix + Self.partSuffix
    guard let gzip = Gzip.system, let source = try? System.openForReading(path) else { return }
    defer { System.close(source) }
    guard let target = try? System.openForAppending(part, permissions: permissions) else { return }
    defer { System.close(target) }
    // A killed process may have left one.
    guard isRegular(target, at: part), System.empty(target) else { return }
    let isWhole = gzip.compress(level: 6) {
      try? System.read(source, into: $0)
    } to: { bytes in
      var left = bytes[...]
      while !left.isEmpty {
        guard let count = try? System.write(UnsafeRawBufferPointer(rebasing: left), to: target) else {
          return false
        }
        left = left.dropFirst(count)
      }
      return true
    }
    let isDone = isWhole && (try? System.rename(part, to: path + Self.compressedSuffix)) != nil
    System.remove(isDone ? path : part)
  }

  /// `20261121T093000.123456Z`: as the timestamps of the lines, without punctuation that some file systems refuse.
  private static func stamp(_ microsecond: Int64) -> String {
    let (nanoseconds, overflow) = microsecond.multipliedReportingOverflow(by: 1_000)
    let time = Timestamp(nanosecondsSinceEpoch: overflow ? .max : nanoseconds)
    let text = LineWriter.bytes(capacity: 32) { $0.timestamp(time) }
    return String(decoding: text.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }, as: UTF8.self)
  }

  /// Whether this is the end of a name that ``stamp(_:)`` made: no other file of the folder may be removed.
  private static func isStamp(_ text: Substring) -> Bool {
    let shape = text.utf8.map { $0.isASCIIDigit ? UInt8(ascii: "0") : $0 }
    return shape.elementsEqual("00000000T000000.000000Z".utf8)
  }
}
