import Testing

@testable import TapCore

struct RenderedLabelsTests {
  private func labels(_ values: (String, String)...) -> RenderedLabels {
    RenderedLabels(values.map { Labels.Pair(name: $0.0, value: $0.1) })
  }

  private func text(_ labels: RenderedLabels) -> String { String(decoding: labels.bytes, as: UTF8.self) }

  @Test func `leaves empty values out`() { #expect(text(labels(("a", ""), ("b", "x"))) == #"b="x""#) }

  @Test func `keeps 256 bytes, and cuts at a scalar`() {
    let most = String(repeating: "x", count: 256)
    #expect(text(labels(("a", most))) == #"a="\#(most)""# && !labels(("a", most)).isCut)
    for (scalar, width) in [("a", 1), ("é", 2), ("€", 3), ("😀", 4)] {
      let long = "x" + String(repeating: scalar, count: 300)
      let cut = "x" + String(repeating: scalar, count: (256 - 1) / width)
      #expect(text(labels(("a", long))) == #"a="\#(cut)""#)
      #expect(labels(("a", long)).isCut && labels(("a", long), ("b", "x")).isCut)
    }
  }

  @Test func `a value stands before those it begins`() {
    let rendered = ["", "a", "a b", "a!", "a#", "ab", "b"].map { labels(("a", $0)) }
    #expect(rendered.reversed().sorted() == rendered)
  }
}
