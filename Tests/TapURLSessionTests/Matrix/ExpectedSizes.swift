import TestSupport

/// The body sizes that the tap should know of a run: exact, or absent where they are unknown.
struct ExpectedSizes {
  let request: Int64?
  let response: Int64?

  /// `nil` for a transfer that was cut short: how far it came is a matter of luck. `TransferInfoTests` look
  /// at those.
  init?(_ testCase: MatrixTests.Case, run: MatrixRun) {
    let scenario = testCase.scenario
    guard case .response = scenario.end else { return nil }
    // The second leg after a challenge is served by a loader that is not the tap's.
    let isAccounted = testCase.hasInfo && !scenario.asksForCredentials && !scenario.isFromCache
    // What Foundation counts of a stream goes on over a second leg.
    let isResent = run.wire.contains { $0.path == "/end" }
    let isUnknown = testCase.kind == .uploadStream && (!isAccounted || isResent) && scenario.method != "HEAD"
    request = isUnknown ? nil : Int64(run.wire.first?.body.count ?? 0)
    // Stock writes the file of a download with a task delegate twice over.
    let isDoubled = testCase.kind == .download && testCase.style == .taskDelegate
    // Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3).
    let declaresSize =
      run.transcript.headers["Transfer-Encoding"] == nil
      && run.transcript.headers["Content-Length"].flatMap { Int64($0) } != nil
    let hasNoContent = [204, 304].contains(run.transcript.status)
    // A loader gives what is for a completion handler to its client, in one piece.
    let isLoaded = testCase.kind != .download && testCase.style != .sessionDelegate
    if let size = scenario.contentSize {
      response = isAccounted || declaresSize ? Int64(size) : nil
    } else if isAccounted || declaresSize || hasNoContent || isLoaded {
      response = Int64(run.transcript.body.count / (isDoubled ? 2 : 1))
    } else {
      response = nil
    }
  }
}
