import TestSupport

@testable import TapCore

struct SeriesTimeTests {
  @Test func `a beginning has the labels of its series, and its time`() throws {
    let labels = RenderedLabels(Labels(["a": "b"]).pairs)
    let created = Timestamp(nanosecondsSinceEpoch: 1_795_229_000_005_456_789)
    var values = ValueHistogram(BucketLayout([1]))
    values.record(2)
    let contents: [(String, MetricType, GatheredFamily.Content)] = [
      ("a_total", .counter, .number(3, isSinceCreation: true)), ("h", .histogram, .histogram(values)),
    ]
    let families = try contents.map { name, type, content in
      let descriptor = try FamilyDescriptor(name: name, help: "", type: type, unit: nil)
      return GatheredFamily(
        descriptor, overflowCount: nil, droppedCount: 0,
        series: [(labels: labels, created: created, content: content)])
    }
    #expect(
      Exposition(of: families, in: .openMetrics, createdSamples: true).text == """
        # TYPE a counter
        a_total{a="b"} 3
        a_created{a="b"} 1795229000.005
        # TYPE h histogram
        h_bucket{a="b",le="1.0"} 0
        h_bucket{a="b",le="+Inf"} 1
        h_sum{a="b"} 2
        h_count{a="b"} 1
        h_created{a="b"} 1795229000.005
        # EOF

        """)
  }

  @Test func `an exemplar is of now, unless another time is given`() throws {
    let histogram = try Registry().histogram("h", help: "")
    let start = Timestamp.now
    histogram.record(1, trace: .random(isSampled: true))
    let exemplar = try #require(histogram.snapshot.exemplars.compactMap(\.self).first)
    #expect((start...Timestamp.now).contains(exemplar.timestamp))
  }
}
