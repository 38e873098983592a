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
    /// Fields that every line has, such as `service.name`: at most 64, with keys of at most 256 bytes that
    /// the log does not use itself. Text is cut at 1,024 bytes. A request's own field with the same key takes
    /// precedence.
    public var fields: [String: FieldValue] = [:]
    /// The maximum bytes of lines in the queue: 4 MiB by default, at least 32 KiB. The writer has a second
    /// buffer with this limit. Memory grows with the lines that wait, and is not released.
    public var queueByteLimit = 4 << 20
    /// The maximum number of lines in the queue, at least 1. A line that finds the queue full is dropped and
    /// counted.
    package var queueLineLimit = 16_384
    /// When the log rotates its file itself. `nil` by default: `logrotate` can do it, without a signal.
    public var rotation: LogRotation?
    /// How long a line may stay in the system's memory before `fsync`: a loss of power takes no older lines.
    /// `nil` by default: the system decides, usually within half a minute. With 0 or less, after each batch.
    public var synchronizationInterval: Duration?
    /// How many of the last lines stay in memory for ``RequestLog/recent()``: none by default.
    public var recentLineLimit = 0
    /// The maximum bytes of these lines: 1 MiB by default, at least 32 KiB. Takes up to four times as much
    /// memory.
    package var recentByteLimit = 1 << 20
    /// Says nothing on standard error.
    package var isQuiet = false

    /// The defaults.
    public init() {}
  }
}
