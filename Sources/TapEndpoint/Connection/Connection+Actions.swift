extension Connection {
  /// What is to be done now. To be asked until it is to wait, or to close.
  package mutating func nextAction(at moment: Moment) -> Action {
    if let id = cancelled {
      cancelled = nil
      return .cancel(id: id)
    }
    if case .receiving = phase, output.count < Self.outputStep, answersInOutput < limits.pipelinedAnswers,
      var request = nextRequest(at: moment)
    {
      let exchange = Exchange(id: requestCount, request)
      requestCount += 1
      phase = .answering(exchange)
      setWait(.answer, at: moment)
      request.answerTime = min(ScrapeTimeout.answerTime(request) ?? .seconds(86_400), limits.answerDeadline)
      waitDeadline = moment.instant + request.answerTime
      return .handle(request, id: exchange.id)
    }
    if let failure {
      self.failure = nil
      return .refused(failure)
    }
    switch phase {
    case .closed(let reset):
      return .close(reset: reset)
    case _ where !output.isEmpty:
      return isWriteBlocked ? .wait : .write
    case .receiving where hasInputEnded:
      phase = .closed(reset: false)
      return .close(reset: false)
    case .closing where hasInputEnded:
      phase = .closed(reset: false)
      return .close(reset: false)
    case .closing:
      phase = .lingering
      setWait(.linger, at: moment)
      return .shutdownOutput
    case .receiving, .answering, .streaming, .lingering:
      return .wait
    }
  }

  /// Parses what has arrived. A failure is answered here.
  private mutating func nextRequest(at moment: Moment) -> EndpointRequest? {
    while !input.isEmpty {
      switch parser.next(from: &input) {
      case .request(let request):
        if input.isEmpty { input = [] }
        return request
      case .continueExpected:
        // Not needed if the body is here already, but allowed (RFC 9110, section 10.1.1).
        append(ResponseEncoder.continue, at: moment)
      case .failure(let failure):
        fail(failure, at: moment)
        return nil
      case nil:
        input = []
      }
    }
    if hasInputEnded && !parser.isIdle {
      // RFC 9112, section 8.
      fail(.malformed("the request is incomplete"), at: moment)
    } else if parser.isIdle {
      if isDraining && output.isEmpty { phase = .closed(reset: false) }
      if wait != .idle { setWait(.idle, at: moment) }
    } else if parser.isInBody {
      if wait != .body { setWait(.body, at: moment) }
    } else if wait != .head {
      setWait(.head, at: moment)
    }
    return nil
  }
}
