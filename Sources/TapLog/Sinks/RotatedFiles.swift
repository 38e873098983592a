import TapCore

/// The old files of a log: their names, their compression, their number.
///
/// A thread of their own works on them. Safe from any thread.
final class RotatedFiles: BackgroundJob {
  private let folder: String
  private let prefix: String
  private let permissions: Int
  private let rotation: LogRotation
  private let worker = Worker()

  private static let compressedSuffix = ".gz"
  private static let partSuffix = ".part"

  init(path: String, permissions: Int, rotation: LogRotation) {
    let slash = path.lastIndex(of: "/")
    folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    prefix = (slash.map { String(path[path.index(after: $0)...]) } ?? path) + "."
    self.permissions = permissions
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

  /// Starts to compress and remove old files. Where the system gives no thread, the next rotation tries again.
  func tidy() { try? worker.run(self) }

  func run(at now: Instant) -> Instant? {
    let names = rotatedNames()
    for name in names.dropLast(max(0, rotation.keep)) { System.remove("\(folder)/\(name)") }
    guard rotation.compresses else { return nil }
    for name in names.suffix(max(0, rotation.keep)).dropLast() where !name.hasSuffix(Self.compressedSuffix) {
      compress("\(folder)/\(name)")
    }
    return nil
  }

  /// The old files, oldest first.
  private func rotatedNames() -> [String] {
    (System.names(inFolder: folder) ?? []).filter { name in
      guard name.hasPrefix(prefix) else { return false }
      var stamp = name.dropFirst(prefix.count)
      if stamp.hasSuffix(Self.compressedSuffix) { stamp = stamp.dropLast(Self.compressedSuffix.count) }
      return Self.isStamp(stamp)
    }.sorted()
  }

  private func compress(_ path: String) {
    let part = path + Self.compressedSuffix + Self.partSuffix
    guard let gzip = Gzip.system, let source = try? System.openForReading(path) else { return }
    defer { System.close(source) }
    guard let target = openPart(part) else { return }
    defer { System.close(target) }
    if compress(source, to: target, gzip), (try? System.rename(part, to: path + Self.compressedSuffix)) != nil
    {
      System.remove(path)
    } else {
      System.remove(part)
    }
  }

  /// Opens the file for what is compressed, and locks it: one of the processes that have the same log compresses. A file that a killed
  /// process has left is not locked any more, and used again. `nil` while another process has it, or if it is a link.
  private func openPart(_ path: String) -> Int32? {
    guard let file = try? System.openForAppending(path, permissions: permissions) else { return nil }
    // The process that had it may have renamed it before this one locked it.
    if System.lock(file), let own = try? System.status(ofDescriptor: file),
      let there = try? System.status(ofLinkAtPath: path), own.isSameFile(as: there), System.empty(file)
    {
      return file
    }
    System.close(file)
    return nil
  }

  private func compress(_ source: Int32, to file: Int32, _ gzip: Gzip) -> Bool {
    gzip.compress(level: 6) {
      try? System.read(source, into: $0)
    } to: { bytes in
      var left = bytes[...]
      while !left.isEmpty {
        guard let count = try? System.write(UnsafeRawBufferPointer(rebasing: left), to: file) else {
          return false
        }
        left = left.dropFirst(count)
      }
      return true
    }
  }

  /// `20261121T093000.123456Z`: as the timestamps of the lines, without the punctuation that file systems of other
  /// systems refuse.
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
