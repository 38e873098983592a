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

  /// The number of bytes that a file of that size can still take, or `nil` if it is time for a new one. Times are nanoseconds since
  /// 1970; `next` is the length of the first line that comes.
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
