import TestSupport

/// The queries of the folder `dashboards`, as they are committed.
struct DashboardFolder {
  struct Query {
    let place: String
    let expression: String
    let names: PromQLNames

    init(place: String, expression: String) {
      (self.place, self.expression) = (place, expression)
      names = PromQLNames(expression)
    }
  }

  private(set) var boards: [Query] = []
  private(set) var rules: [Query] = []
  /// The metrics that rules record.
  private(set) var recorded: Set<String> = []

  var all: [Query] { boards + rules }

  init() throws {
    let folder = Repository.folder.appendingPathComponent("dashboards")
    for (name, text) in try Self.files(in: folder, "grafana/boards", ".json") {
      boards += try Self.queries(ofBoard: text).map { Query(place: name, expression: $0) }
    }
    for path in ["prometheus/rules", "prometheus/rules/native"] {
      for (name, text) in try Self.files(in: folder, path, ".yml") {
        let fields = Self.fields(ofRules: text)
        rules += fields.filter { $0.key == "expr" }.map { Query(place: name, expression: $0.value) }
        recorded.formUnion(fields.filter { $0.key == "record" }.map(\.value))
      }
    }
  }

  private static func files(
    in folder: URL, _ path: String, _ suffix: String
  ) throws -> [(name: String, text: String)] {
    let folder = folder.appendingPathComponent(path)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0.hasSuffix(suffix) }
      .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
  }

  /// The panels' `expr`, and the variables' `label_values(series, label)`.
  private static func queries(ofBoard text: String) throws -> [String] {
    let board = try JSONSerialization.jsonObject(with: Data(text.utf8))
    let variables = strings("query", in: board).compactMap { query -> String? in
      guard let parts = query.wholeMatch(of: /label_values\((.+), *(\w+)\)/) else { return nil }
      return "count by (\(parts.2)) (\(parts.1))"
    }
    return variables + strings("expr", in: board)
  }

  /// The texts with a key, however deep.
  private static func strings(_ key: String, in value: Any) -> [String] {
    if let list = value as? [Any] { return list.flatMap { strings(key, in: $0) } }
    guard let members = value as? JSONMembers else { return [] }
    let own = members[key] as? String
    return (own.map { [$0] } ?? []) + members.values.flatMap { strings(key, in: $0) }
  }

  /// The `key: value` lines of rules, in the subset of YAML that they keep to: a value stands behind its key,
  /// or below `|` and further in.
  private static func fields(ofRules text: String) -> [(key: String, value: String)] {
    var fields: [(key: String, value: String)] = []
    var block: Int?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let content = line.drop { $0 == " " }
      let indent = line.count - content.count
      if let key = block, indent > key || content.isEmpty {
        fields[fields.count - 1].value += "\n" + content
        continue
      }
      block = nil
      let isItem = content.hasPrefix("- ")
      let parts = (isItem ? content.dropFirst(2) : content).split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !content.hasPrefix("#") else { continue }
      let value = parts[1].drop { $0 == " " }
      if value == "|" { block = indent + (isItem ? 2 : 0) }
      fields.append((String(parts[0]), value == "|" ? "" : String(value)))
    }
    return fields
  }
}
