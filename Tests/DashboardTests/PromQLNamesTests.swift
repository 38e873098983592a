import Testing

@Suite struct PromQLNamesTests {
  @Test(
    arguments: [
      ("up", ["up": []], []),
      (
        "sum by (job, le) (rate(a_bucket{x=~\"$x\", y!=\"}\"}[$__rate_interval]))", ["a_bucket": ["x", "y"]],
        ["job", "le"]
      ),
      ("a and on (job) group_left (v) b{c=''}", ["a": [], "b": ["c"]], ["job", "v"]),
      ("histogram_quantile(0.99, a:b:rate5m{q=\"0.5\"}) > 1e3 or vector(0)", ["a:b:rate5m": ["q"]], []),
      ("max(a) unless a offset 5m # of b\n", ["a": []], []),
      ("count by (x) ({__name__=~\"a(_count)?\", y=\"1\"})", ["a(_count)?": ["y"]], ["x"]),
      ("a{b=\"\\\"c\"} / scalar(d)", ["a": ["b"], "d": []], []),
    ] as [(String, [String: Set<String>], Set<String>)])
  func `tells metrics and labels from functions, keywords, ranges and numbers`(
    expression: String, metrics: [String: Set<String>], grouping: Set<String>
  ) {
    let names = PromQLNames(expression)
    #expect(names.metrics == metrics)
    #expect(names.grouping == grouping)
  }
}
