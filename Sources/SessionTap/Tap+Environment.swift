import TapCore
import TapEndpoint

extension Tap.Configuration {
  /// Makes the default configuration, changed by an environment. The article *Metrics and limits* lists the variables.
  ///
  /// An invalid environment does not end an app (OpenTelemetry, "Environment Variable Specification",
  /// "Parsing"): a value that cannot be used, or an unknown variable `SESSION_TAP_…`, is ignored and named in
  /// ``warnings``. If the start finds that the address, the credentials or the log cannot be used, the app
  /// runs without it, and a warning says why.
  ///
  /// Values set later take precedence, and a warning names the variable. A log is an exception: where the
  /// path that the code sets cannot be opened, that of `SESSION_TAP_LOG` is used.
  ///
  /// - Parameter environment: The variables; `[:]` gives the defaults.
  public init(environment: [String: String]) {
    var taken: [EnvironmentVariable.Assignment] = []
    for variable in EnvironmentVariable.all {
      guard let value = environment[variable.name], !value.isEmpty else { continue }
      if let problem = variable.take(value, &self) {
        warn(variable.name, value, "\(problem): it is ignored")
      } else {
        taken.append(.init(variable: variable, value: value))
      }
    }
    if let rotation = logging.rotation, rotation.maximumSize == nil, rotation.interval == nil {
      warn(
        EnvironmentVariable.rotationKeep, "\(rotation.keep)",
        "which has no effect without a size or an interval")
      logging.rotation = nil
      taken.removeAll { $0.variable.name == EnvironmentVariable.rotationKeep }
    }
    target = TargetInfo(
      serviceName: environment["OTEL_SERVICE_NAME"],
      resourceAttributes: environment["OTEL_RESOURCE_ATTRIBUTES"])
    for (field, label) in [("service.name", "service_name"), ("service.version", "service_version")] {
      if let value = target[label] { logging.fields[field] = .string(value) }
    }
    for index in taken.indices { taken[index].setting = taken[index].variable.setting(self) }
    assignments = taken
    let isAddressGiven = [EnvironmentVariable.host, EnvironmentVariable.port].contains {
      environment[$0]?.isEmpty == false
    }
    environmentAddress = isAddressGiven ? endpoint?.address : nil
    isLogOfEnvironment = taken.contains { $0.variable.name == EnvironmentVariable.log }
    environmentLog = log
    for name in environment.keys.sorted() where name.hasPrefix(EnvironmentVariable.own) {
      if let right = Self.nearestVariable(to: name) {
        warnings.append("there is no variable \(name): did you mean \(right)?")
      }
    }
  }

  /// Warns of each variable in whose place the code has set something else.
  mutating func warnOfIgnoredVariables() {
    for taken in assignments {
      let name = taken.variable.name
      if !taken.holds(in: self) {
        warn(name, taken.value, "which is ignored: the app's code sets another value")
      } else if log?.isFile != true, name.hasPrefix(EnvironmentVariable.rotation) {
        warn(name, taken.value, "which has no effect: there is no log in a file")
      }
    }
  }

  /// Whether it is the environment that keeps the endpoint from listening.
  func isOfEnvironment(_ error: EndpointError) -> Bool {
    if environmentAddress != nil, environmentAddress == endpoint?.address { return true }
    let files = [EnvironmentVariable.bearerTokenFile, EnvironmentVariable.basicPasswordFile]
    return error.code == .noCredentials
      && assignments.contains { files.contains($0.variable.name) && $0.holds(in: self) }
  }

  private mutating func warn(_ name: String, _ value: String, _ problem: String) {
    warnings.append("\(name) is '\(value)', \(problem)")
  }

  /// The variable with the most similar name, or `nil` if there is one of this name.
  private static func nearestVariable(to name: String) -> String? {
    let names = EnvironmentVariable.all.map(\.name).filter { $0.hasPrefix(EnvironmentVariable.own) }
    if names.contains(name) { return nil }
    let text = Array(name.utf8.prefix(256))
    return names.min { distance(text, Array($0.utf8)) < distance(text, Array($1.utf8)) }
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
