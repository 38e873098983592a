import TestSupport

/// The queries of the folder `dashboards`, as they are committed.
struct DashboardFolder {
  struct Query {
    var place: String
    var expression: String
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
    let ruleFiles = try ["prometheus/rules", "prometheus/rules/native"].flatMap {
      try Self.files(in: folder, $0, ".yml")
    }
    for (name, text) in ruleFiles {
      let fields = Self.fields(ofRules: text)
      rules += fields.filter { $0.key == "expr" }.map { Query(place: name, expression: $0.value) }
      recorded.formUnion(fields.filter { $0.key == "record" }.map(\.value))
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
  static func queries(ofBoard text: String) throws -> [String] {
    let board = try JSONDecoder().decode(Board.self, from: Data(text.utf8))
    let variables = board.templating.list.compactMap { variable -> String? in
      guard variable.type == "query", let query = variable.query, let comma = query.lastIndex(of: ",") else {
        return nil
      }
      let series = query[..<comma].dropFirst("label_values(".count)
      let label = query[comma...].dropFirst().dropLast().drop { $0 == " " }
      return "count by (\(label)) (\(series))"
    }
    let panels = board.panels.flatMap { [$0] + ($0.panels ?? []) }
    return variables + panels.flatMap { ($0.targets ?? []).map(\.expr) }
  }

  /// The `key: value` lines of rules, in the subset of YAML that they keep to: a value stands behind its key,
  /// or below `|` and further in.
  static func fields(ofRules text: String) -> [(key: String, value: String)] {
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

  private struct Board: Decodable {
    struct Panel: Decodable {
      var targets: [Target]?
      /// Those of a folded row.
      var panels: [Panel]?
    }
    struct Target: Decodable { var expr: String }
    struct Templating: Decodable { var list: [Variable] }
    struct Variable: Decodable {
      var type: String
      var query: String?
    }
    var panels: [Panel]
    var templating: Templating
  }
}
