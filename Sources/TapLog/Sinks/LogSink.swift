/// A destination for log lines of the app's own making: a socket, a message queue, a test's array.
///
/// A thread of the log's own calls all of these, never two at a time. A sink may block it: the queue then fills, and lines that
/// find no room are dropped and counted, but no request and no scrape waits. Past the deadline of
/// ``RequestLog/shutdown(within:)`` the thread is left behind. A sink may give the log lines, but must not flush it or shut
/// it down: it would wait for itself until the deadline.
public protocol LogSink: Sendable {
  /// Takes one or more whole lines, UTF-8, each ended by a newline. The memory is valid during the call only.
  ///
  /// If this throws, the lines are dropped and counted (``LogDropReason/writeError``): the log cannot know what
  /// of them went out.
  func write(_ lines: UnsafeRawBufferPointer) throws

  /// Makes what has been written durable. Called by a flush. Does nothing by default.
  func flush() throws

  /// The log is shut down; nothing follows. Does nothing by default.
  func close()
}

extension LogSink {
  /// Does nothing.
  public func flush() throws {}

  /// Does nothing.
  public func close() {}
}
