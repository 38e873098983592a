import TestSupport

/// Every public setting that takes a number, a `Duration`, a text or a list, at the extremes of its type: a
/// typed error, or a tap that works. The trials have a process of their own, which writes down what it is
/// about to try: what ends the process, or holds it up, names itself.
@Suite(.needs(.processor)) struct ExtremesTests {
  @Test func `a tap refuses an extreme with a typed error, or works with it`() async throws {
    let folder = try TemporaryFolder()
    try ExitValues.give("ExtremesTests", folder.path)
    let result = await #expect(processExitsWith: .success) {
      try await ExtremeWalk.run(in: ExitValues.take("ExtremesTests", String.self))
    }
    if result == nil { Issue.record("the process ended at \(try folder.text("step").suffix(999))") }
  }

  /// A trial that names a function without its labels, or without the last of them, has all that begin so.
  @Test func `no public setting is forgotten`() throws {
    let walked = Set(ExtremeTrial.all.map(\.setting)).union(Self.exclusions.keys)
    let settings = try PublicSettings().names
    let missing = settings.filter { name in !walked.contains { name.hasPrefix($0) } }
    #expect(missing.isEmpty, "without a trial at their extremes: \(missing.sorted())")
    let unknown = walked.filter { name in !settings.contains { $0.hasPrefix(name) } }
    #expect(unknown.isEmpty, "not in Tests/PublicAPI: \(unknown.sorted())")
  }

  /// What has no trial, and why.
  private static let exclusions = [
    "RequestRecorder.init": "a tap makes it of its configuration",
    "URLSessionTap.sessionConfiguration": "the tap's function of that name calls it",
    "URLSessionTap.install": "the tap's function of that name calls it",
    "InboundRequests.withRequest": "begin takes them as they are",
    "OutboundRequests.withRequest": "begin takes them as they are",
    "EverySession": "a result", "RequestLog.Destination.init": "its places have trials of their own",
    "Tap.observeEverySession": "the tap's session(client:) takes such names",
  ]
}

/// The settings of Tests/PublicAPI: each property that an app can set, each initialiser, case and function,
/// if a number, a `Duration`, a text or a list goes in.
private struct PublicSettings {
  /// `RequestLog.Configuration.queueByteLimit`, `HistogramBuckets.linear(from:width:count:)`.
  private(set) var names: Set<String> = []
  /// Every property that can be set, whatever its type.
  private var properties: Set<String> = []

  init() throws {
    let folder = Repository.folder.appendingPathComponent("Tests/PublicAPI")
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasSuffix("txt") {
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      for match in text.matches(of: /(?m)^([A-Z][\w.]+): (.+)$/) { read(match.1, String(match.2)) }
    }
    // An initialiser that sets properties alone, by their names, is walked with them.
    names = names.filter { name in
      guard let open = name.firstRange(of: ".init(") else { return true }
      let labels = name[open.upperBound...].dropLast().split(separator: ":")
      return !labels.allSatisfy { properties.contains("\(name[..<open.lowerBound]).\($0)") }
    }
  }

  private mutating func read(_ owner: Substring, _ declaration: String) {
    // What an app implements is not called with what it chooses.
    if declaration.hasSuffix("(requirement)") || declaration.hasSuffix("(default)") { return }
    if let property = declaration.firstMatch(of: /^(?:\w+ )*var (\w+): ([^{]+)(?:\{ get set \})?$/) {
      properties.insert("\(owner).\(property.1)")
      if Self.takesExtremes(property.2) { names.insert("\(owner).\(property.1)") }
      return
    }
    guard let function = declaration.firstMatch(of: /(?:func |case |^(?:\w+ )*(?=init))(\w+)[^( ]*\((.*)/),
      !declaration.contains("Literal "), !declaration.contains("init?(rawValue: ")
    else { return }
    // Without the parameters of closures, the list ends at the first bracket that closes.
    var list = String(function.2)
    while let inner = list.firstRange(of: /\([^()]*\) (?:throws )?->|\([^()]*\)/) {
      if list[..<inner.lowerBound].contains(")") { break }
      list.replaceSubrange(inner, with: list[inner].contains("->") ? "closure" : "")
    }
    let parameters = list.prefix { $0 != ")" }.split(separator: ",").filter { $0.contains(/^ ?\w+/) }
    guard parameters.contains(where: Self.takesExtremes) else { return }
    let labels = parameters.map { part in
      part.firstMatch(of: #/^ ?(\w+)(?: \w+)?: /#).map { "\($0.1):" } ?? "_:"
    }
    names.insert("\(owner).\(function.1)(\(labels.joined()))")
  }

  /// Whether a type holds a number, a `Duration`, a text or a list. A closure takes what the library gives
  /// it.
  private static func takesExtremes(_ text: some StringProtocol) -> Bool {
    let type = String(text.prefix { $0 != "=" })
    return !type.contains("closure") && !type.contains("->")
      && type.contains(/\b(Int|Int32|Int64|Double|Duration|String|StringProtocol|Set|Sequence)\b|(?:^|: )\[/)
  }
}
