/// When a log moves its file aside and begins a new one, and how many old files it keeps.
///
/// `requests.jsonl` becomes `requests.jsonl.20261121T093000.123456Z`. The file is moved between two batches,
/// so that `tail -F` misses nothing. `logrotate` can do it instead, also by time and with compression. Leave
/// it to `logrotate` where another process writes to the same file: the log rotates only a file of its own.
public struct LogRotation: Sendable {
  /// The maximum size of a file in bytes; only a single line may be longer. With 1 or less, each line has its
  /// own file.
  public var maximumSize: Int
  /// The number of old files to keep, the newest ones: 5 by default. With 0 or less, none.
  public var keep: Int

  /// Rotates by size.
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
