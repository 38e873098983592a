/// What the socket, the clock and the endpoint tell.
extension Connection {
  /// Bytes arrived.
  package mutating func received(_ bytes: ArraySlice<UInt8>) {
    switch phase {
    case .lingering:
      lingeringBytes += bytes.count
      if lingeringBytes > Self.lingerBytes { phase = .closed(reset: true) }
    case .closing, .closed:
      break
    case .receiving, .answering, .streaming:
      input = ArraySlice(Array(input) + bytes)
    }
  }

  /// The client will send nothing more. It may still read (RFC 9112, section 9.6).
  package mutating func inputEnded() {
    hasInputEnded = true
    if case .lingering = phase { phase = .closed(reset: false) }
  }

  /// The socket failed: nobody is left to talk to.
  package mutating func failed() {
    phase = .closed(reset: true)
  }

  /// That many bytes of the output were sent.
  package mutating func wrote(_ count: Int, at moment: Moment) {
    output.removeFirst(count)
    progress += count
    if output.isEmpty {
      writeDeadline = nil
      progress = 0
      answersInOutput = 0
    } else if progress >= Self.outputStep {
      writeDeadline = moment.instant + limits.writeDeadline
      progress = 0
    }
  }

  /// The socket takes no more for now.
  package mutating func writeBlocked() { isWriteBlocked = true }

  /// The socket takes bytes again.
  package mutating func writable() { isWriteBlocked = false }

  /// A deadline may have passed.
  package mutating func deadlinePassed(at moment: Moment) {
    if let writeDeadline, writeDeadline <= moment.instant {
      phase = .closed(reset: true)
      return
    }
    guard waitDeadline <= moment.instant else { return }
    switch (wait, phase) {
    case (.idle, .receiving) where !output.isEmpty:
      // Not idle: the last answer is still on its way, and the write deadline is for it.
      setWait(.idle, at: moment)
    case (.head, .receiving):
      fail(RequestFailure(status: .requestTimeout, reason: "the head took too long"), at: moment)
    case (.body, .receiving):
      fail(RequestFailure(status: .requestTimeout, reason: "the body took too long"), at: moment)
    case (.answer, .answering(let exchange)):
      cancelled = exchange.id
      answer(.refusal(.serviceUnavailable, "the answer took too long"), to: exchange.id, at: moment)
    case (_, .closing):
      // What is left to send has the write deadline.
      setWait(.linger, at: moment)
    case (_, .streaming):
      phase = .closed(reset: true)
    default:
      phase = .closed(reset: false)
    }
  }

  /// The endpoint is shutting down: an idle connection ends now, another one behind the answer that is due.
  package mutating func drain() {
    isDraining = true
  }
}
