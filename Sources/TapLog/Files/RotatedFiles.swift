import Synchronization
import TapCore

/// The old files of a log: their names, their compression, their number.
///
/// Work on them is done by a thread that lives for as long as there is some. Safe from any thread.
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

  /// A name that no file has: of the time, or of the next microsecond that is free.
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

  /// Compresses and removes what is due, soon and elsewhere.
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

  /// Whether this is the end of a name that ``stamp(_:)`` made: nothing else in the folder is ours to remove.
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
