import TestSupport

/// The table of metrics in the article on metrics and limits.
struct ArticleMetrics {
  private(set) var labels: [String: Set<String>] = [:]

  init() throws {
    let lines = try Repository.article("MetricsAndLimits")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let table = lines.drop { !$0.hasPrefix("| metric | type | labels |") }.dropFirst(2).prefix {
      $0.hasPrefix("|")
    }
    var previous: Set<String> = []
    for line in table {
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count >= 4 else { continue }
      // What an app or its environment chooses is listed in words.
      let labels = cells[3].contains("the same") ? previous : Self.names(in: cells[3])
      for metric in Self.names(in: cells[1]) { self.labels[metric] = labels }
      previous = labels
    }
  }

  /// The words in backticks.
  private static func names(in cell: Substring) -> Set<String> {
    Set(
      cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
        .map { String($0.element) })
  }
}
