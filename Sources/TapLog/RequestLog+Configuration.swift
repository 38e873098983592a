public import TapCore

extension RequestLog {
  /// The settings of a log. Values are clamped to their ranges.
  public struct Configuration: Sendable {
    /// What a line shows of a request: by default no userinfo, query values, headers or fragments.
    public var redaction = LogRedaction()
    /// Which requests get a line: all by default.
    public var sampling = LogSampling()
    /// Replaces ``sampling`` for the requests of some clients, by name.
    public var clientSampling: [String: LogSampling] = [:]
    /// The maximum bytes of `url.full` and `url.path`, after redaction. A longer one ends in `…`. At most
    /// 8,192.
    package var urlLengthLimit = 2_048
    /// Fields that every line has, such as `service.name`: at most 64, with keys of at most 256 bytes. More
    /// or longer ones are an error at the start, and so is a key that the log uses itself. Text is cut at
    /// 1,024 bytes. A request's own field with the same key takes precedence.
    public var fields: [String: FieldValue] = [:]
    /// The maximum bytes of lines in the queue: 4 MiB by default, at least 32 KiB. The writer has a second
    /// buffer with this limit. Memory grows with the lines that wait, and is not released.
    public var queueByteLimit = 4 << 20
    /// The maximum number of lines in the queue: 16,384 by default, at least 1. A line that finds the queue
    /// full is dropped and counted: no setting makes the caller wait. A tool that needs every line calls
    /// ``RequestLog/flush(within:)`` now and then.
    package var queueLineLimit = 16_384
    /// The permissions of a new log file, less the process's umask: `0o640`, because even a redacted log is
    /// not for all users. Only the nine lowest bits are used. The owner may always write, to reopen it.
    public var filePermissions = 0o640
    /// When the log rotates its file itself. `nil` by default: `logrotate` can do it, without a signal. At
    /// its next batch the log notices that the file was moved, replaced or truncated.
    public var rotation: LogRotation?
    /// How long a line may stay in the system's memory before `fsync`: a loss of power takes no older lines.
    /// `nil` by default: the system decides, usually within half a minute. With 0 or less, after each batch.
    public var synchronizationInterval: Duration?
    /// How many of the last lines stay in memory for ``RequestLog/recent(_:)``: none by default.
    public var recentLineLimit = 0
    /// The maximum bytes of these lines: 1 MiB by default, at least 32 KiB. Takes up to four times as much
    /// memory.
    package var recentByteLimit = 1 << 20
    /// Whether a normal exit of the process (`exit`, or the end of `main`) waits up to a second for them.
    public var flushesAtExit = true
    /// Says nothing on standard error.
    package var isQuiet = false

    /// The defaults.
    public init() {}
  }
}
