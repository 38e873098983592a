import Synchronization
import TapCore

/// When a log moves its file aside and begins a new one, and what becomes of the old ones.
///
/// `requests.jsonl` becomes `requests.jsonl.20261121T093000.123456Z`, a name that never changes again, save for a
/// `.gz` at its end. The file is moved between two batches, so that `tail -F` misses nothing.
public struct LogRotation: Sendable, Hashable {
  /// The size in bytes that a file does not grow past; only a single line may be longer. With 1 or less, each line gets a
  /// file of its own.
  public var maximumSize: Int?
  /// How much time a file covers, at least a second. Counted from 1970 in UTC, so that a day begins at midnight. A file is
  /// moved when the first line of the next period comes.
  public var interval: Duration?
  /// How many old files stay, the newest ones: 5. With 0 or less, none.
  public var keep = 5
  /// Whether old files are compressed with gzip, by a thread of their own. The newest stays as it is until the
  /// next rotation, for a process that still writes to it and for readers that are behind. Uses the system's zlib, and
  /// leaves files as they are where there is none.
  public var compresses = false

  /// Rotates by size.
  ///
  /// - Parameters:
  ///   - bytes: the size that a file does not grow past.
  ///   - keep: how many old files stay.
  ///   - compresses: whether old files are compressed.
  public static func size(_ bytes: Int, keep: Int = 5, compresses: Bool = false) -> LogRotation {
    LogRotation(maximumSize: bytes, keep: keep, compresses: compresses)
  }

  /// Rotates by time.
  ///
  /// - Parameters:
  ///   - interval: how much time a file covers, counted from midnight of 1970-01-01 in UTC; at least a second.
  ///   - keep: how many old files stay.
  ///   - compresses: whether old files are compressed.
  public static func every(_ interval: Duration, keep: Int = 5, compresses: Bool = false) -> LogRotation {
    LogRotation(interval: interval, keep: keep, compresses: compresses)
  }

  /// Rotates by both, whichever comes first. Without either it never rotates.
  public init(maximumSize: Int? = nil, interval: Duration? = nil, keep: Int = 5, compresses: Bool = false) {
    self.maximumSize = maximumSize
    self.interval = interval
    self.keep = keep
    self.compresses = compresses
  }
}

extension LogRotation {
  /// The number of bytes that the file can still take, or `nil` if it is time for a new one.
  ///
  /// - Parameters:
  ///   - size: The size of the file.
  ///   - modified: When it was last written to, in nanoseconds since 1970.
  ///   - now: The time of the lines that come, in the same unit.
  ///   - next: The length of the first of them.
  func capacity(size: Int, modified: Int64, now: Int64, next: Int) -> Int? {
    guard size > 0 else { return max(next, maximumSize ?? .max) }
    if let interval {
      let period = max(1_000_000_000, interval.nanoseconds)
      // A clock that was set back does not rotate.
      if now / period > modified / period { return nil }
    }
    guard let maximumSize else { return .max }
    let capacity = maximumSize - min(size, maximumSize)
    return next <= capacity ? capacity : nil
  }
}

/// The old files of a log: their names, their compression, their number.
///
/// A thread works on them for as long as there is work. Safe from any thread.
final class RotatedFiles: Sendable {
  private let folder: String
  private let prefix: String
  private let rotation: LogRotation
  private let state = Mutex(State())

  private struct State {
    var isWorking = false
    var isAsked = false
  }

  private static let compressedSuffix = ".gz"
  private static let partSuffix = ".part"

  init(path: String, rotation: LogRotation) {
    let slash = path.lastIndex(of: "/")
    folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    prefix = (slash.map { String(path[path.index(after: $0)...]) } ?? path) + "."
    self.rotation = rotation
  }

  /// Whether the names of old files are longer than the file system allows, which the file's own may not be.
  var hasTooLongNames: Bool {
    let path = "\(folder)/\(prefix)\(Self.stamp(0))\(Self.compressedSuffix)\(Self.partSuffix)"
    do {
      _ = try System.status(ofPath: path)
      return false
    } catch {
      return error == .nameTooLong
    }
  }

  /// A path without a file: that of the time, or of the next free microsecond.
  func freePath(at time: Timestamp) -> String? {
    let microsecond = time.nanosecondsSinceEpoch / 1_000
    for offset in 0..<1_000 {
      let name = prefix + Self.stamp(microsecond &+ Int64(offset))
      let path = "\(folder)/\(name)"
      if (try? System.status(ofPath: path)) == nil,
        (try? System.status(ofPath: path + Self.compressedSuffix)) == nil
      {
        return path
      }
    }
    return nil
  }

  /// Starts to compress and remove old files, on a thread of its own.
  func tidy() {
    let isFirst = state.withLock { state in
      state.isAsked = true
      defer { state.isWorking = true }
      return !state.isWorking
    }
    guard isFirst else { return }
    do {
      try BackgroundThread.start { self.work() }
    } catch {
      state.withLock { $0.isWorking = false }  // The next rotation tries again.
    }
  }

  private func work() {
    while claimWork() {
      let names = rotatedNames()
      for name in names.dropLast(max(0, rotation.keep)) { System.remove("\(folder)/\(name)") }
      guard rotation.compresses else { continue }
      for name in names.suffix(max(0, rotation.keep)).dropLast() where !name.hasSuffix(Self.compressedSuffix)
      {
        compress("\(folder)/\(name)")
      }
    }
  }

  private func claimWork() -> Bool {
    state.withLock { state in
      defer { state.isAsked = false }
      if !state.isAsked { state.isWorking = false }
      return state.isAsked
    }
  }

  /// The old files, oldest first.
  private func rotatedNames() -> [String] {
    System.names(inFolder: folder).filter { name in
      guard name.hasPrefix(prefix) else { return false }
      var stamp = name.dropFirst(prefix.count)
      if stamp.hasSuffix(Self.compressedSuffix) { stamp = stamp.dropLast(Self.compressedSuffix.count) }
      return Self.isStamp(stamp)
    }.sorted()
  }

  private func compress(_ path: String) {
    let part = path + Self.compressedSuffix + Self.partSuffix
    guard Self.compress(path, to: part) else { return System.remove(part) }
    guard (try? System.rename(part, to: path + Self.compressedSuffix)) != nil else {
      return System.remove(part)
    }
    System.remove(path)
  }

  private static func compress(_ path: String, to target: String) -> Bool {
    guard let gzip = Gzip.system else { return false }
    let source = System.openForReading(path)
    guard source >= 0 else { return false }
    defer { System.close(source) }
    return gzip.writeFile(target) { memory in
      guard let base = memory.baseAddress else { return nil }
      return try? System.read(source, into: base, count: memory.count)
    }
  }

  /// `20261121T093000.123456Z`: as the timestamps of the lines, without the punctuation that file systems of other
  /// systems refuse.
  private static func stamp(_ microsecond: Int64) -> String {
    var text = ""
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { memory in
      guard let base = memory.baseAddress else { return }
      var json = JSONWriter(base, capacity: memory.count)
      let (nanoseconds, overflow) = microsecond.multipliedReportingOverflow(by: 1_000)
      json.timestamp(Timestamp(nanosecondsSinceEpoch: overflow ? .max : nanoseconds))
      text = String(
        decoding: json.bytes.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }, as: UTF8.self)
    }
    return text
  }

  /// Whether this is the end of a name that ``stamp(_:)`` made: no other file of the folder may be removed.
  private static func isStamp(_ text: Substring) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 23 else { return false }
    return bytes.indices.allSatisfy { index in
      switch index {
      case 8: bytes[index] == UInt8(ascii: "T")
      case 15: bytes[index] == UInt8(ascii: ".")
      case 22: bytes[index] == UInt8(ascii: "Z")
      default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index])
      }
    }
  }
}
