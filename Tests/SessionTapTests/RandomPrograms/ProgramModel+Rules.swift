import TestSupport

/// Which steps make sense, and which of them a program may take.
extension ProgramModel {
  /// Whether the step is one that a program may take now: all that it names is there, and what comes of it is
  /// known.
  func allows(_ step: Step) -> Bool {
    switch step {
    case .tap(let name, _, _): taps[name] == nil
    case .patch(let name, let tap, let old, _): configurations[name] == nil && taps[tap] != nil && has(old)
    case .session(let name, .stock(let source), _): sessions[name] == nil && has(source)
    case .session(let name, .shared, let hasDelegate):
      sessions[name] == nil && !hasDelegate && !sessions.values.contains(where: \.isShared)
    case .install(let tap, let session, _), .uninstall(let tap, let session):
      taps[tap] != nil && sessions[session] != nil
    case .request(let request): allows(request)
    case .begin(let request):
      // A session has six connections to a server (`httpMaximumConnectionsPerHost`), and what finds none free
      // waits.
      allows(request) && request.isHeld && request.cancel == .never
        && open.values.count { $0.session == request.session } < 3
    case .finish(let name): open[name] != nil
    case .cancel(let name): open[name]?.canCancel == true
    case .start(let tap), .shutdown(let tap), .scrape(let tap): taps[tap] != nil
    case .together(let steps): allows(together: steps)
    }
  }

  private func has(_ source: RandomProgram.Source) -> Bool {
    switch source {
    case .ephemeral, .standard: true
    case .configuration(let name): configurations[name] != nil
    case .session(let name): sessions[name] != nil
    }
  }

  private func allows(_ request: ProgramRequest) -> Bool {
    guard let session = sessions[request.session], request.isSafe else { return false }
    if request.style == .delegate, !session.hasDelegate { return false }
    if case .endpoint(let tap) = request.target, taps[tap]?.isServing != true { return false }
    return true
  }

  /// Whether steps can be taken at the same time: none changes a session whose tasks another one resumes, and
  /// none needs what another one makes.
  private func allows(together steps: [Step]) -> Bool {
    let stopped = steps.compactMap(\.stoppedTap)
    return steps.count > 1 && Set(stopped).count == stopped.count && steps.count(where: \.isBegin) < 3
      && steps.allSatisfy { step in
        switch step {
        case .request, .begin, .patch, .shutdown, .scrape: allows(step)
        // What comes of two starts is told by a shutdown alone.
        case .start(let tap): allows(step) && stopped.contains(tap)
        default: false
        }
      }
  }
}
