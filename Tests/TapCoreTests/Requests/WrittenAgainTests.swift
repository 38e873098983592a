import TestSupport

@testable import TapCore

/// What is declared in TapCore, and written again where no compiler compares it.
struct WrittenAgainTests {
  private func words(_ pattern: String, in text: some StringProtocol) throws -> [String] {
    try String(text).matches(of: Regex(pattern, as: (Substring, Substring).self)).map { String($0.1) }
  }

  /// The rows of the table of labels.
  private func labelRows() throws -> [Substring] {
    let lines = try Repository.article("MetricsAndLimits")
      .split(separator: "\n", omittingEmptySubsequences: false)
    return Array(lines.drop { !$0.hasPrefix("| label |") }.dropFirst(2).prefix { $0.hasPrefix("| `") })
  }

  @Test func `the page's style, the boards and the articles have each phase`() throws {
    let phases = RequestTimings.Phase.allCases
    #expect(phases.map(\.index) == Array(phases.indices))
    let names = phases.map(\.rawValue)
    let style = try Repository.text("Sources/TapPage/Web/page.css")
    let board = try Repository.text("dashboards/grafana/boards/session-tap-requests.json")
    let row = try #require(try labelRows().first { $0.hasPrefix("| `phase` |") })
    for (place, found) in [
      ("page.css", try words(#"(?m)^\.(\w+) \{ --(?:phase|lines):"#, in: style)),
      ("a colour of the board", try words(#""options": "(\w+)""#, in: board)),
      (
        "what the board says",
        try words(#"\b(\w+)\b"#, in: words(#""description": "(queue: .*)""#, in: board).first ?? "")
      ),
      ("WhatTheTapSees.md", try words(#"(?m)^\| `(\w+)` \|"#, in: Repository.article("WhatTheTapSees"))),
      ("MetricsAndLimits.md", try words(#"`(\w+)`"#, in: row)),
    ] { #expect(Set(names).subtracting(found) == [], "\(place)") }
  }

  /// That the table of metrics has them follows from what is emitted (`DashboardContractTests`).
  @Test func `the article has each label of requests`() throws {
    let ends = RequestDirection.allCases.map {
      let request = RequestObservation.whole($0, .cancelled)
      return RequestLabels.End(direction: $0, target: .init(request.request), outcome: .init(request))
    }
    let cells = try labelRows().compactMap { $0.split(separator: "|").first }
    let explained = try words(#"`(\w+)`"#, in: cells.joined())
    #expect(Set(ends.flatMap(\.pairs).map(\.0) + ["phase"]).symmetricDifference(explained) == [])
  }

  @Test func `the articles have each value of a closed list`() throws {
    let rows = try ["MetricsAndLimits", "RequestsThatHang"].flatMap { name in
      try Repository.article(name).split(separator: "\n").filter { $0.hasPrefix("| `") }
    }
    let found = try words(#"`([\w.]+)`"#, in: rows.joined(separator: "\n"))
    let waits = Set(RequestWait.allCases.map(\.rawValue))
    let labels =
      RequestErrorType.allCases.map(\.rawValue) + NetworkProtocolVersion.allCases.map(\.rawValue)
    #expect(waits.union(labels).subtracting(found) == [])
  }
}
