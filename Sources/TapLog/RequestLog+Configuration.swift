public import TapCore

extension RequestLog {
  /// What can be chosen, with its defaults. Values outside a setting's range count as the nearest inside it.
  public struct Configuration: Sendable {
    /// What a line shows of a request. By default no userinfo, no query value, no header and no fragment.
    public var redaction = LogRedaction()
    /// Which requests get a line: all, by default.
    public var sampling = LogSampling()
    /// What counts instead of ``sampling`` for the requests of some clients, by name.
    public var clientSampling: [String: LogSampling] = [:]
    /// The most bytes of `url.full` and `url.path`, after redaction; a longer one is cut and ends in `…`. At most 8,192.
    public var urlLengthLimit = 2_048
    /// The methods that appear as themselves; any other is `_OTHER`, with the method itself, up to 64 bytes, in
    /// `http.request.method_original`. By default those of RFC 9110, PATCH (RFC 5789) and QUERY.
    public var knownMethods = KnownMethods.standard
    /// Fields that every line has, such as `service.name`: at most 64, with keys of at most 256 bytes. More or longer ones
    /// are an error at start, and so is a key that the log uses itself. A text is cut at 1,024 bytes. A request's own field
    /// of the same key replaces one of these.
    public var fields: [String: FieldValue] = [:]
    /// The most bytes of lines that wait to be written: 4 MiB, at least 32 KiB. The writer has a second buffer with this
    /// limit. Memory grows with the lines that wait, and is kept then; where the system has no more, the queue is full.
    public var queueByteLimit = 4 << 20
    /// The most lines that wait to be written: 16,384, at least 1.
    public var queueLineLimit = 16_384
    /// What happens when the queue is full.
    public var whenFull = FullQueuePolicy.dropNewest
    /// How long a line waits for others, so that they are written together: 50 ms. Every wake-up of the writer
    /// costs the requests time. With 0 or less it does not wait; the longest ones end with a flush, a shutdown, or when many
    /// lines wait.
    public var batchDelay: Duration = .milliseconds(50)
    /// The permissions of a file that the log makes, less the process's umask: `0o640`, since even a redacted log
    /// is not for all users. The nine lowest bits count, and the owner may always write: the log opens the file again.
    public var filePermissions = 0o640
    /// When the log itself moves its file aside and begins a new one: never, by default, since `logrotate` can do it.
    public var rotation: LogRotation?
    /// How long a line may be in the system's memory only: a loss of power takes no more than that (`fsync`). `nil`
    /// by default: the system decides, usually within half a minute. With 0 or less, after each batch.
    public var synchronizationInterval: Duration?
    /// Whether SIGHUP makes the log reopen its file. Without it too, a file that has been moved or replaced is noticed
    /// at the next batch. A handler that was installed before is called as well, with what it asked for (`SA_SIGINFO`); one
    /// that is installed later takes the place of this one, and can call ``RequestLog/reopen()``.
    public var reopensOnHangup = false
    /// How many of the last lines stay in memory, for ``RequestLog/recent(_:)`` and ``RequestLog/follow(_:onLines:)``:
    /// none, by default.
    public var recentLineLimit = 0
    /// The most bytes of them: 1 MiB, at least 32 KiB. Memory grows with the lines that are kept. A follower that is so far
    /// behind is dropped.
    public var recentByteLimit = 1 << 20
    /// The most followers at one time: 16. With 0 or less, none.
    public var followerLimit = 16
    /// Whether a normal exit of the process (`exit`, or the end of `main`) waits up to a second for lines that are
    /// on their way.
    public var flushesAtExit = true

    /// The defaults.
    public init() {}
  }

  /// What happens to a line that finds the queue full. Whatever is dropped is counted. No policy makes the caller wait: a tool
  /// that needs every line calls ``RequestLog/flush(within:)`` between them.
  public enum FullQueuePolicy: Sendable, Hashable {
    /// The line itself is dropped: the log tells how a burst began.
    case dropNewest
    /// The oldest lines in the queue make room: the log tells how a burst ended.
    case dropOldest
  }
}

extension RequestLog.Configuration {
  func fileOptions(path: String) -> FileOptions {
    FileOptions(
      path: path, permissions: filePermissions & 0o777 | 0o200, rotation: rotation,
      synchronizationInterval: synchronizationInterval, reopensOnHangup: reopensOnHangup)
  }

  func makeRecentLines() -> RecentLines? {
    recentLineLimit > 0 ? RecentLines(lines: recentLineLimit, bytes: max(32_768, recentByteLimit)) : nil
  }

  var followerLimits: LogFollower.Limits {
    LogFollower.Limits(followers: max(0, followerLimit), bytes: max(32_768, recentByteLimit))
  }

  var queueLimits: QueueLimits {
    QueueLimits(
      bytes: max(32_768, queueByteLimit), lines: max(1, queueLineLimit), whenFull: whenFull,
      batchDelay: max(.zero, batchDelay))
  }

  var lineLimits: LineLimits {
    LineLimits(url: min(max(0, urlLengthLimit), 8_192), knownMethods: knownMethods)
  }
}

extension RequestLog {
  /// Where a log goes.
  public struct Destination: Sendable {
    let makeOutput: @Sendable (Configuration) throws(RequestLogError) -> any LogOutput

    /// Appends to a file, made if it is not there; its directory has to be. Lines are written whole (`O_APPEND`, one
    /// call a batch), so that two processes may share a file.
    ///
    /// A FIFO may stand in place of the file: its reader may come later, and lines wait for it. Character devices such as
    /// `/dev/null` may, too; directories, Unix sockets and block devices are refused when the log starts.
    public static func file(_ path: String) -> Destination {
      Destination { configuration throws(RequestLogError) in
        try FileOutput(configuration.fileOptions(path: path))
      }
    }

    /// Standard error. Where it is closed, the log does not start.
    public static var standardError: Destination { .descriptor(2) }

    /// A descriptor that the app has opened for writing and keeps open: of a file, a pipe, a connected socket. The log does
    /// not close it.
    public static func descriptor(_ descriptor: Int32) -> Destination {
      Destination { _ throws(RequestLogError) in try DescriptorOutput(descriptor: descriptor) }
    }

    /// Nowhere: lines are kept in memory alone, as many as ``Configuration/recentLineLimit`` says.
    public static var memory: Destination { .custom(MemorySink()) }

    /// A sink of the app's own.
    public static func custom(_ sink: some LogSink) -> Destination {
      Destination { _ throws(RequestLogError) in SinkOutput(sink: sink) }
    }
  }
}
