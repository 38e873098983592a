import TapCore
import TestSupport

/// The body sizes that the tap should know of a run: exact, or absent where no public signal tells them.
struct ExpectedSizes {
  let request: Int64?
  let response: Int64?

  init(_ testCase: MatrixTests.Case, run: MatrixRun) {
    guard case .response = testCase.scenario.end else {
      // Nobody tells how far a body got before a failure.
      (request, response) = (nil, nil)
      return
    }
    // What Foundation counts of a stream goes on over a second leg.
    let mayCountTwice = testCase.kind == .uploadStream && testCase.scenario.asksForCredentials
    request = mayCountTwice ? nil : Int64(run.wire.first?.body.count ?? 0)
    // Stock writes the file of a download with a task delegate twice over.
    let isDoubled = testCase.kind == .download && testCase.style == .taskDelegate
    // Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3).
    let declaresSize =
      run.transcript.headers["Transfer-Encoding"] == nil
      && run.transcript.headers["Content-Length"].flatMap { Int64($0) } != nil
    let hasNoContent = [204, 304].contains(run.transcript.status)
    let isCounted =
      switch (testCase.kind, testCase.sessionMaker) {
      case (.download, .whole): testCase.style.hasDelegate
      // A count of 0 may be no count.
      case (.download, _): testCase.style.hasDelegate && !run.transcript.body.isEmpty
      case (_, .whole): true
      default: testCase.style != .sessionDelegate
      }
    if let size = testCase.scenario.contentSize {
      response = Int64(size)
    } else if !declaresSize, !hasNoContent, !isCounted {
      response = nil
    } else {
      response = Int64(run.transcript.body.count / (isDoubled ? 2 : 1))
    }
  }
}
