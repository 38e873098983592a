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
    let isChunked = run.transcript.headers["Transfer-Encoding"] != nil
    let isCounted =
      testCase.kind == .download
      ? testCase.style.hasDelegate
      : testCase.style != .sessionDelegate || testCase.sessionMaker == .whole
    if testCase.scenario.name == "gzip" {
      response = Int64(Scenario.gzipBody.count)
    } else if isChunked, !isCounted {
      response = nil
    } else {
      response = Int64(run.transcript.body.count / (isDoubled ? 2 : 1))
    }
  }
}
