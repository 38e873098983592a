import TestSupport

@testable import TapCore

/// A table of two metrics, as those of the requests are.
struct SeriesTableTests {
  private struct Row: SeriesRow {
    var values: [Double?] = [nil, nil]
    let activity: UInt64 = 0

    static func isHeld(_ row: inout Row) -> Bool { true }

    func content(of column: Int) -> GatheredFamily.Content? {
      values[column].map { GatheredFamily.Content.number($0) }
    }
  }

  private func labels(_ number: Int) -> RenderedLabels { RenderedLabels(Labels(["n": "\(number)"]).pairs) }

  private func table(_ rows: [Double?]...) throws -> SeriesTable<Int, Row> {
    let a = try FamilyDescriptor(name: "a", help: "", type: .gauge, unit: nil)
    let b = try FamilyDescriptor(name: "b", help: "", type: .gauge, unit: nil)
    let columns = [SeriesColumn(descriptor: a), SeriesColumn(descriptor: b)]
    var table = SeriesTable<Int, Row>(columns, SeriesConfiguration()) { Row() }
    for (number, values) in rows.enumerated() {
      _ = table.find(number, labels: labels(number), new: Row(values: values))
    }
    return table
  }

  private func lines(_ table: inout SeriesTable<Int, Row>) -> [String] {
    let text = Exposition(of: table.gather(at: .now), in: .text).text
    return text.split(separator: "\n").map(String.init)
  }

  @Test func `a metric leaves out the series in which it has nothing, and no other`() throws {
    var table = try table([nil, 1], [2, nil], [nil, nil], [3, 4])
    let shown = lines(&table)
    #expect(
      shown == [
        "# TYPE a gauge", #"a{n="1"} 2"#, #"a{n="3"} 3"#, "# TYPE b gauge", #"b{n="0"} 1"#, #"b{n="3"} 4"#,
      ])
  }

  @Test func `a change of all rows is one of each, but for those that are gone`() throws {
    var table = try table([1, nil], [2, nil], [3, nil])
    let isRemoved = table.remove(labels(1))
    table.updateAll { $0.values[1] = 7 }
    let shown = lines(&table)
    #expect(isRemoved)
    #expect(
      shown == [
        "# TYPE a gauge", #"a{n="0"} 1"#, #"a{n="2"} 3"#, "# TYPE b gauge", #"b{n="0"} 7"#, #"b{n="2"} 7"#,
      ])
  }
}
