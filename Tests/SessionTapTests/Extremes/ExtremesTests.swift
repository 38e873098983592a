import Foundation
import TestSupport
import Testing

/// Every public setting that takes a number, a `Duration`, a text or a list, at the extremes of its type: a typed error,
/// or a tap that works. A trap names the setting, because each group of them has a process of its own, which writes down
/// what it is about to try.
@Suite(.serialized) struct ExtremesTests {
  @Test(arguments: ExtremeGroup.allCases)
  func `a tap refuses an extreme with a typed error, or works with it`(_ group: ExtremeGroup) async throws {
    let extremes = group.extremes
    var next = 0
    while next < extremes.count {
      let report = TapTests.temporaryFile()
      defer {
        for suffix in [""] + ExtremeRun.suffixes {
          try? FileManager.default.removeItem(atPath: report + suffix)
        }
      }
      await #expect(processExitsWith: .success) {
        [report = report as String, group = group as ExtremeGroup, next = next as Int] in
        try await ExtremeRun(group, reportingTo: report).run(from: next)
      }
      let run = try ExtremeRun.Report(path: report)
      for fault in run.faults { Issue.record("\(fault)") }
      guard let index = run.unfinished else {
        #expect(run.isComplete, "the process of \(group) ended before it began")
        break
      }
      let end = try String(contentsOfFile: report + ".stderr", encoding: .utf8)
      Issue.record("\(extremes[index].setting) = \(extremes[index].value): the process ended. \(end)")
      next = index + 1
    }
  }

  @Test func `no public setting is forgotten`() throws {
    let walked = Set(ExtremeGroup.allCases.flatMap(\.extremes).map(\.setting))
    let settings = try PublicSettings()
    let missing = settings.names.subtracting(walked).subtracting(PublicSettings.exclusions.keys)
    #expect(missing.isEmpty, "without a trial at their extremes: \(missing.sorted())")
    let unknown = walked.union(PublicSettings.exclusions.keys).subtracting(settings.names)
    #expect(unknown.isEmpty, "not in Tests/PublicAPI: \(unknown.sorted())")
    print("\(ExtremeGroup.allCases.flatMap(\.extremes).count) extremes of \(walked.count) settings")
  }
}
