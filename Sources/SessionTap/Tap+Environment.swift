import TapCore
import TapEndpoint

extension Tap.Configuration {
  /// Makes the default configuration, changed by an environment. The article *Metrics and limits* lists the
  /// variables.
  ///
  /// An invalid environment does not end an app (OpenTelemetry, "Environment Variable Specification",
  /// "Parsing"): a value that cannot be used, or an unknown variable `SESSION_TAP_…`, is ignored and named in
  /// ``warnings``. If the start finds that the address, the credentials or the log cannot be used, the app
  /// runs without it, and a warning says why. The endpoint tries again each second.
  ///
  /// Values set later take precedence, and a warning names the variable. A log is an exception: where the
  /// path that the code sets cannot be opened, that of `SESSION_TAP_LOG` is used.
  ///
  /// - Parameter environment: The variables; `[:]` gives the defaults.
  public init(environment: [String: String]) {
    var taken: [EnvironmentVariable.Assignment] = []
    for variable in EnvironmentVariable.all {
      guard let value = environment[variable.name], !value.isEmpty else { continue }
      if let own = EnvironmentVariable.otherNames.first(where: { $0.value == variable.name })?.key,
        environment[own]?.isEmpty == false
      {
        warn(variable.name, value, "which is ignored: \(own) is set")
        continue
      }
      if let problem = variable.take(value, &self) {
        warn(variable.name, value, "\(problem): it is ignored")
      } else {
        taken.append(.init(variable: variable, value: value))
      }
    }
    if let rotation = logging.rotation, rotation.maximumSize == .max {
      warn(
        EnvironmentVariable.rotationKeep, "\(rotation.keep)", "which has no effect without a size")
      logging.rotation = nil
      taken.removeAll { $0.variable.name == EnvironmentVariable.rotationKeep }
    }
    target = TargetInfo(
      serviceName: environment[EnvironmentVariable.serviceName],
      resourceAttributes: environment[EnvironmentVariable.resourceAttributes])
    for index in taken.indices { taken[index].setting = taken[index].variable.setting(self) }
    assignments = taken
    let isAddressGiven = EnvironmentVariable.otherNames.contains {
      environment[$0.key]?.isEmpty == false || environment[$0.value]?.isEmpty == false
    }
    environmentAddress = isAddressGiven ? endpoint?.address : nil
    isLogOfEnvironment = taken.contains { $0.variable.name == EnvironmentVariable.log }
    environmentLog = log
    for name in environment.keys.sorted() where name.hasPrefix(EnvironmentVariable.own) {
      if EnvironmentVariable.all.contains(where: { $0.name == name }) { continue }
      let name = String(name.prefix(256))
      let suggestion = Self.nearestVariable(to: name).map { ": did you mean \($0)?" }
      warnings.append("there is no variable \(name)\(suggestion ?? "")")
    }
  }

  /// Warns of each variable that has no effect, or in whose place the code has set something else.
  mutating func warnOfIgnoredVariables() {
    for taken in assignments {
      let name = taken.variable.name
      if endpoint == nil, EnvironmentVariable.ofEndpoint.contains(name) {
        warn(name, taken.value, "which has no effect: the app's code sets no endpoint")
      } else if !taken.holds(in: self) {
        warn(name, taken.value, "which is ignored: the app's code sets another value")
      } else if log?.isFile != true, name.hasPrefix(EnvironmentVariable.rotation) {
        warn(name, taken.value, "which has no effect: there is no log in a file")
      }
    }
  }

  /// Whether the start goes on without the endpoint for now: because another process uses the address, or it
  /// is the environment that keeps the endpoint from listening.
  func tolerates(_ error: EndpointError) -> Bool {
    if error.code == .addressInUse { return !failsIfAddressInUse }
    if environmentAddress != nil, environmentAddress == endpoint?.address { return true }
    return error.code == .noCredentials && variable(ofFileIn: error) != nil
  }

  /// The description of an error of the endpoint, and which of the settings is the remedy.
  func advice(on error: EndpointError) -> String {
    let remedy: String? =
      switch error.code {
      case .addressInUse:
        "the address is that of configuration.endpoint, or \(EnvironmentVariable.port)"
      case .accessNotRestricted: "\(EnvironmentVariable.allowNetwork)=1 lets anybody read"
      case .noCredentials: variable(ofFileIn: error).map { "\($0) names the file" }
      default: nil
      }
    return error.description + (remedy.map { "; " + $0 } ?? "")
  }

  /// The variable that names the file without credentials, if one does.
  private func variable(ofFileIn error: EndpointError) -> String? {
    let names = [EnvironmentVariable.bearerTokenFile, EnvironmentVariable.basicPasswordFile]
    return assignments.first {
      names.contains($0.variable.name) && $0.holds(in: self) && error.description.contains(" \($0.value): ")
    }?.variable.name
  }

  private mutating func warn(_ name: String, _ value: String, _ problem: String) {
    warnings.append("\(name) is '\(value)', \(problem)")
  }

  /// The variable with the most similar name, or `nil` if none has anything in common with it.
  private static func nearestVariable(to name: String) -> String? {
    let word = ownWords(of: name)
    let candidates = EnvironmentVariable.all.map { variable in
      let other = ownWords(of: variable.name)
      return (variable.name, distance: distance(word, other), most: max(word.count, other.count))
    }
    return candidates.min { $0.distance < $1.distance }.flatMap { $0.distance < $0.most ? $0.0 : nil }
  }

  /// A name without the words that only say whose it is: `PORT` of `OTEL_EXPORTER_PROMETHEUS_PORT`.
  private static func ownWords(of name: String) -> [UInt8] {
    let owners: Set<Substring> = [
      "SESSION", "TAP", "OTEL", "EXPORTER", "PROMETHEUS", "INSTRUMENTATION", "HTTP",
    ]
    return Array(name.split(separator: "_").filter { !owners.contains($0) }.joined(separator: "_").utf8)
  }

  /// How many bytes to insert, to remove or to change make one text of the other (Levenshtein).
  private static func distance(_ text: [UInt8], _ other: [UInt8]) -> Int {
    var row = Array(0...other.count)
    for (index, byte) in text.enumerated() {
      var diagonal = index
      row[0] = index + 1
      for (place, otherByte) in other.enumerated() {
        let changed = diagonal + (byte == otherByte ? 0 : 1)
        diagonal = row[place + 1]
        row[place + 1] = min(changed, row[place] + 1, diagonal + 1)
      }
    }
    return row[other.count]
  }
}
