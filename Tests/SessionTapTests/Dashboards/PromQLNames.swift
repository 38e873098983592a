/// The metrics and labels that a PromQL expression names.
struct PromQLNames {
  /// The labels that each metric is chosen by. A metric whose name is a pattern stands under the pattern.
  private(set) var metrics: [String: Set<String>] = [:]
  /// The labels that series are grouped or matched by.
  private(set) var grouping: Set<String> = []

  init(_ expression: String) {
    var rest = Self.tokens(of: expression)[...]
    while let token = rest.popFirst() {
      switch token {
      case .name(let name) where rest.first == .symbol("("):
        // A function has brackets too, and is no name of ours.
        if Self.grouping.contains(name) { grouping.formUnion(Self.takeList(from: &rest)) }
      case .name(let name) where !Self.keywords.contains(name):
        let matchers = rest.first == .symbol("{") ? Self.takeMatchers(from: &rest) : [:]
        metrics[name, default: []].formUnion(matchers.keys)
      case .symbol("{"):
        var matchers = Self.takeMatchers(from: &rest)
        let name = matchers.removeValue(forKey: "__name__") ?? ""
        metrics[name, default: []].formUnion(matchers.keys)
      default: break
      }
    }
  }

  private enum Token: Equatable {
    /// A metric, a label, a function or a keyword. `:` is part of a recorded metric's name.
    case name(String)
    case text(String)
    case symbol(Substring)
  }

  /// The tokens of an expression. What stands in brackets is a range; numbers, blanks, comments and Grafana's
  /// variables are left out.
  private static func tokens(of expression: String) -> [Token] {
    let pattern = #/"((?:[^"\\]|\\.)*)"|\[[^\]]*\]|\#[^\n]*|[$0-9][\w:]*|([a-zA-Z_:][\w:]*)|\s+|(.)/#
    return expression.matches(of: pattern).compactMap { match -> Token? in
      let (_, text, name, symbol) = match.output
      if let text { return .text(String(text).replacing("\\\\", with: "\\")) }
      if let name { return .name(String(name)) }
      return symbol.map { Token.symbol($0) }
    }
  }

  private static let grouping: Set = ["by", "without", "on", "ignoring", "group_left", "group_right"]
  private static let keywords: Set = [
    "and", "or", "unless", "atan2", "offset", "bool", "inf", "nan", "Inf", "NaN", "sum", "min", "max", "avg",
    "count", "group", "stddev", "stdvar", "topk", "bottomk", "quantile", "count_values",
  ]

  /// `(a, b)`
  private static func takeList(from rest: inout ArraySlice<Token>) -> Set<String> {
    var labels: Set<String> = []
    while let token = rest.popFirst(), token != .symbol(")") {
      if case .name(let label) = token { labels.insert(label) }
    }
    return labels
  }

  /// `a="x", b=~"y"}`: the values by their labels.
  private static func takeMatchers(from rest: inout ArraySlice<Token>) -> [String: String] {
    var matchers: [String: String] = [:]
    var label = ""
    while let token = rest.popFirst(), token != .symbol("}") {
      switch token {
      case .name(let name): label = name
      case .text(let value): matchers[label] = value
      case .symbol: break
      }
    }
    return matchers
  }
}
