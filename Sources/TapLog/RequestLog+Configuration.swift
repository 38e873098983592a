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
    /// `http.request.method_original`.
    package var knownMethods = KnownMethods.standard
    /// Fields that every line has, such as `service.name`: at most 64, with keys of at most 256 bytes. More or longer ones
    /// are an error at start, and so is a key that the log uses itself. A text is cut at 1,024 bytes. A request's own field
    /// of the same key replaces one of these.
    public var fields: [String: FieldValue] = [:]
    /// The most bytes of lines that wait to be written: 4 MiB, at least 32 KiB. The writer has a second buffer with this
    /// limit. Memory grows with the lines that wait, and is kept then.
    public var queueByteLimit = 4 << 20
    /// The most lines that wait to be written: 16,384, at least 1. A line that finds the queue full is dropped and counted: no
    /// setting makes the caller wait. A tool that needs every line calls ``RequestLog/flush(within:)`` between them.
    public var queueLineLimit = 16_384
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
    /// How many of the last lines stay in memory, for ``RequestLog/recent(_:)``: none, by default.
    public var recentLineLimit = 0
    /// The most bytes of them: 1 MiB, at least 32 KiB. Memory grows with the lines that are kept, to twice as much.
    public var recentByteLimit = 1 << 20
    /// Whether a normal exit of the process (`exit`, or the end of `main`) waits up to a second for lines that are
    /// on their way.
    public var flushesAtExit = true

    /// The defaults.
    public init() {}
  }
}
