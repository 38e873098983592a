import TestSupport

/// The settings of Tests/PublicAPI: each property that an app can set, each initialiser, case and function,
/// if a number, a `Duration`, a text or a list goes in.
struct PublicSettings {
  /// `RequestLog.Configuration.queueByteLimit`, `HistogramBuckets.linear(from:width:count:)`.
  private(set) var names: Set<String> = []

  init() throws {
    let folder = Repository.folder.appendingPathComponent("Tests/PublicAPI")
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasSuffix("txt") {
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      for line in text.split(separator: "\n") where !line.hasPrefix("#") { read(String(line)) }
    }
    // An initialiser that sets properties alone, by their names, is walked with them.
    names = names.filter { name in
      guard let open = name.range(of: ".init(") else { return true }
      let labels = name[open.upperBound...].dropLast().split(separator: ":")
      return labels.isEmpty || !labels.allSatisfy { properties.contains("\(name[..<open.lowerBound]).\($0)") }
    }
  }

  /// Every property that can be set, whatever its type.
  private var properties: Set<String> = []

  /// Reads `Type: declaration`.
  private mutating func read(_ line: String) {
    guard let colon = line.range(of: ": ") else { return }
    let owner = line[..<colon.lowerBound]
    let declaration = line[colon.upperBound...]
    // What an app implements is not called with what it chooses.
    if declaration.hasSuffix("(requirement)") || declaration.hasSuffix("(default)") { return }
    if let property = declaration.range(of: "var ") {
      let parts = declaration[property.upperBound...].split(separator: ":", maxSplits: 1)
      guard parts.count == 2, !declaration.hasSuffix("{ get }") else { return }
      properties.insert("\(owner).\(parts[0])")
      if Self.takesExtremes(parts[1]) { names.insert("\(owner).\(parts[0])") }
    } else if let keyword = ["func ", "case ", "init"].first(where: { declaration.contains($0) }),
      let open = declaration.firstIndex(of: "(", after: keyword)
    {
      readFunction(owner, declaration, open)
    }
  }

  private mutating func readFunction(_ owner: Substring, _ declaration: Substring, _ open: String.Index) {
    let name = declaration[..<open].split(separator: " ").last ?? ""
    // The compiler makes these, or they are the initialiser without the word.
    let isImplied = declaration.contains("rawValue: ") && name == "init?" || declaration.contains("Literal ")
    guard !isImplied, !name.contains("=") else { return }
    let parameters = Self.parameters(declaration[open...])
    guard parameters.contains(where: { Self.takesExtremes($0.type) }) else { return }
    let bare = name.prefix { $0 != "<" && $0 != "?" }
    names.insert("\(owner).\(bare)(\(parameters.map { "\($0.label):" }.joined()))")
  }

  /// Splits `(label name: Type = value, …)` at the commas that stand outside of brackets.
  private static func parameters(_ text: Substring) -> [(label: Substring, type: Substring)] {
    var (depth, parts) = (1, [Substring("")])
    for character in text.dropFirst() {
      if ")]".contains(character) { depth -= 1 }
      if depth == 0 { break }
      if depth == 1, character == "," { parts.append("") } else { parts[parts.count - 1].append(character) }
      if "([".contains(character) { depth += 1 }
    }
    return parts.map { part in
      let halves = part.split(separator: ":", maxSplits: 1)
      // What a case holds may have no label.
      guard halves.count == 2, let label = halves[0].split(separator: " ").first else { return ("_", part) }
      return (label, halves[1])
    }
  }

  /// Whether a type holds a number, a `Duration`, a text or a list. A closure takes what the library gives
  /// it.
  private static func takesExtremes(_ type: Substring) -> Bool {
    if type.contains("->") { return false }
    let declared = type.split(separator: "=").first ?? type
    let words = declared.split { !$0.isLetter && !$0.isNumber && $0 != "[" && $0 != "." }
    let taken = [
      "Int", "Int32", "Int64", "Double", "Duration", "String", "StringProtocol", "Set", "Sequence",
    ]
    return words.contains { taken.contains(String($0)) || $0.hasPrefix("[") }
  }

  /// What has no trial, and why.
  static let exclusions: [String: String] = [
    "RequestRecorder.init(registry:outbound:inbound:exemplars:observers:)":
      "a tap makes it of its configuration",
    "URLSessionTap.sessionConfiguration(from:client:)": "the tap's function of that name calls it",
    "URLSessionTap.install(on:client:)": "the tap's function of that name calls it",
    "InboundRequests.withRequest(method:path:scheme:traceparent:clientAddress:fields:headers:isolation:_:)":
      "begin takes them as they are",
    "OutboundRequests.withRequest(client:method:url:urlTemplate:trace:fields:headers:isolation:_:)":
      "begin takes them as they are", "EverySession.notObserved(reason:)": "a result",
    "RequestLog.Destination.init(_:)": "its places have trials of their own",
    "EverySession.observed(earlierSessions:)": "a result",
    "Tap.observeEverySession(client:)": "the tap's session(client:) takes such names",
  ]
}

extension StringProtocol {
  /// The first such character behind a text, if the text is there.
  fileprivate func firstIndex(of character: Character, after text: String) -> Index? {
    guard let end = ranges(of: text).first?.upperBound else { return nil }
    return self[end...].firstIndex(of: character)
  }
}
