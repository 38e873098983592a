import TapCore

/// When a log renames its file and begins a new one, and what happens to old files.
///
/// `requests.jsonl` becomes `requests.jsonl.20261121T093000.123456Z`; later only `.gz` is appended. The file
/// is moved between two batches, so that `tail -F` misses nothing.
public struct LogRotation: Sendable {
  /// The maximum size of a file in bytes; only a single line may be longer. With 1 or less, each line has its
  /// own file.
  public var maximumSize: Int?
  /// The time that a file covers, at least a second. Counted from 1970 in UTC, so a day begins at midnight.
  /// The first line of the next period moves the file.
  public var interval: Duration?
  /// The number of old files to keep, the newest ones: 5 by default. With 0 or less, none.
  public var keep = 5
  /// Whether a thread of its own compresses old files with gzip. The newest old file stays uncompressed until
  /// the next rotation, for processes that still write to it and readers that lag. Uses the system's zlib;
  /// without it, files stay uncompressed.
  public var compresses = false

  /// Rotates by size and time, whichever comes first. With neither it never rotates.
  public init(maximumSize: Int? = nil, interval: Duration? = nil, keep: Int = 5, compresses: Bool = false) {
    (self.maximumSize, self.interval, self.keep, self.compresses) = (maximumSize, interval, keep, compresses)
  }

  /// The number of bytes that a file of that size can still take, or `nil` if it is time for a new one. Times
  /// are nanoseconds since 1970; `next` is the length of the first line that comes.
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
