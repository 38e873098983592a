/// What one connection may take: sizes, depths and times.
package struct ConnectionLimits: Sendable, Hashable {
  package var parser = ParserLimits()
  /// From the first byte of a head to its last.
  package var headDeadline = Duration.seconds(5)
  /// From the last byte of a head to the last of its body.
  package var bodyDeadline = Duration.seconds(10)
  /// From one request, or from the connection's begin, to the first byte of the next request.
  package var idleDeadline = Duration.seconds(75)
  /// From a request to its answer, and from one part of a streamed body to the next.
  package var answerDeadline = Duration.seconds(60)
  /// For every 64 KiB of output, and what is less at its end.
  package var writeDeadline = Duration.seconds(10)
  /// Answers that may wait for their reader before the next request is looked at.
  package var pipelinedAnswers = 32

  package init() {}
}
