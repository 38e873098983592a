import Testing

@testable import TapCore

struct RenderedLabelsTests {
  private func render(_ value: String) -> String {
    String(decoding: RenderedLabels([.init(name: "a", value: value)]).bytes, as: UTF8.self)
  }

  @Test func `leaves empty values out`() {
    let labels = RenderedLabels([.init(name: "a", value: ""), .init(name: "b", value: "x")])
    #expect(String(decoding: labels.bytes, as: UTF8.self) == #"b="x""#)
  }

  @Test(arguments: [("a", 1), ("é", 2), ("€", 3), ("😀", 4)])
  func `cuts at a scalar`(scalar: String, width: Int) {
    let text = "x" + String(repeating: scalar, count: 300)
    let expected = "x" + String(repeating: scalar, count: (256 - 1) / width)
    #expect(render(text) == #"a="\#(expected)""#)
    #expect(RenderedLabels([.init(name: "a", value: text)]).isCut)
    #expect(RenderedLabels([.init(name: "a", value: text), .init(name: "b", value: "x")]).isCut)
  }

  @Test func `keeps what fits`() {
    let text = String(repeating: "x", count: 256)
    #expect(render(text) == #"a="\#(text)""#)
    #expect(!RenderedLabels([.init(name: "a", value: text)]).isCut)
  }

  @Test func `a value stands before those it begins`() {
    let values = ["", "a", "a b", "a!", "a#", "ab", "b"]
    let rendered = values.map { RenderedLabels([.init(name: "a", value: $0)]) }
    #expect(rendered.shuffled().sorted() == rendered)
  }
}
