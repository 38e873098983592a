import TapCore

/// When a log moves its file aside and begins a new one, and how many old files it keeps: `requests.jsonl`
/// becomes `requests.jsonl.20261121T093000.123456Z`. Leave it to `logrotate` where another process writes to
/// the same file: the log rotates only a file of its own.
public struct LogRotation: Sendable {
  package var maximumSize: Int
  package var keep: Int

  /// Rotates by size.
  ///
  /// - Parameters:
  ///   - maximumSize: The maximum size of a file in bytes; only a single line may be longer. With 1 or less,
  ///     each line has its own file.
  ///   - keep: The number of old files to keep, the newest ones. With 0 or less, none.
  public init(maximumSize: Int, keep: Int = 5) { (self.maximumSize, self.keep) = (maximumSize, keep) }

  /// The number of bytes that a file of that size can still take, or `nil` if it is time for a new one.
  ///
  /// - Parameter next: The length of the first line that comes.
  func capacity(size: Int, next: Int) -> Int? {
    if size <= 0 { return max(next, maximumSize) }
    let capacity = maximumSize - min(size, maximumSize)
    return next <= capacity ? capacity : nil
  }

  /// The old files to remove, by their stamps.
  ///
  /// - Parameter newest: The stamp of the file that was moved last. A later one is of a clock that was ahead:
  ///   its file is older than all others.
  func excess(of stamps: [String], newest: String) -> ArraySlice<String> {
    let ordered = stamps.filter { $0 > newest }.sorted() + stamps.filter { $0 <= newest }.sorted()
    return ordered.dropLast(max(0, keep))
  }
}

/// The old files of a log: their names, and their number.
struct RotatedFiles {
  /// The path of the log's file, which is no link.
  private let path: String
  private let folder: String
  /// What the names of old files begin with, before their stamps.
  private let prefix: String

  /// `nil` if the path leads to what a process has open, which is not the log's to move.
  init?(ofLogAt path: String) {
    guard let target = FilePath.target(of: path) else { return nil }
    self.path = target
    folder = FilePath.folder(of: target)
    prefix = target.dropFirst(target.contains("/") ? folder.count : 0) + "."
  }

  /// Moves the log's file aside, and gives the stamp of its new name: the time, or the next free microsecond.
  func moveLog(at time: Timestamp) throws(System.Failure) -> String {
    var microsecond = time.nanosecondsSinceEpoch / 1_000
    while (try? System.status(ofLinkAtPath: oldPath(Self.stamp(microsecond)))) != nil { microsecond += 1 }
    let stamp = Self.stamp(microsecond)
    try System.rename(path, to: oldPath(stamp))
    return stamp
  }

  /// Removes the old files that are in excess. Throws the last failure, after all of them.
  func removeExcess(by rotation: LogRotation, newest: String) throws(System.Failure) {
    let stamps = try System.names(inFolder: folder).compactMap { stamp(ofOldFile: $0) }
    var failure: System.Failure?
    for stamp in rotation.excess(of: stamps, newest: newest) {
      do throws(System.Failure) { try System.unlink(oldPath(stamp)) } catch {
        if error != .missing { failure = error }
      }
    }
    if let failure { throw failure }
  }

  /// The stamp in a name that ``moveLog(at:)`` has made. `nil` for any other file of the folder, none of
  /// which may be removed.
  private func stamp(ofOldFile name: String) -> String? {
    guard name.hasPrefix(prefix) else { return nil }
    let stamp = String(name.dropFirst(prefix.count))
    let shape = stamp.utf8.map { $0.isASCIIDigit ? UInt8(ascii: "0") : $0 }
    guard shape.elementsEqual("00000000T000000.000000Z".utf8) else { return nil }
    return (try? System.status(ofLinkAtPath: oldPath(stamp)))?.kind == .regular ? stamp : nil
  }

  private func oldPath(_ stamp: String) -> String { folder + prefix + stamp }

  /// `20261121T093000.123456Z`: as the timestamps of the lines, without punctuation that some file systems
  /// refuse.
  private static func stamp(_ microsecond: Int64) -> String {
    let (nanoseconds, overflow) = microsecond.multipliedReportingOverflow(by: 1_000)
    let time = Timestamp(nanosecondsSinceEpoch: overflow ? .max : nanoseconds)
    let text = LineWriter.bytes(capacity: 32) { $0.timestamp(time) }
    return String(decoding: text.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }, as: UTF8.self)
  }
}
