import TapCore
import TapEndpoint

extension Tap.Configuration {
  /// Makes the default configuration, changed by an environment; `[:]` gives the defaults. The article
  /// *Metrics and limits* lists the variables, and what becomes of one that cannot be used.
  ///
  /// An invalid environment does not end an app (OpenTelemetry, "Environment Variable Specification",
  /// "Parsing"): what cannot be used is ignored and named in ``warnings``. Values that the code sets take
  /// precedence, but where the log's path that it sets cannot be opened, that of `SESSION_TAP_LOG` is used.
  public init(environment: [String: String]) {
    let environment = EnvironmentVariable.withoutServiceLinks(environment)
    // What is set to nothing counts as not set.
    let names = EnvironmentVariable.all.map(\.name)
    let values = environment.filter { !$0.value.isEmpty && names.contains($0.key) }
    self.environment = values
    target = TargetInfo(
      serviceName: values[EnvironmentVariable.serviceName],
      resourceAttributes: values[EnvironmentVariable.resourceAttributes])
    for variable in EnvironmentVariable.all {
      guard let value = values[variable.name] else { continue }
      if let precedent = variable.precedent, assignments.contains(where: { $0.variable.name == precedent }) {
        warn(variable.name, value, "which is ignored: \(precedent) is set")
      } else if variable.take(value, &self) {
        assignments.append((variable, value))
      } else {
        warn(variable.name, value, "\(variable.problem): it is ignored")
      }
    }
    if let rotation = logging.rotation, rotation.maximumSize == .max {
      for keep in assignments where keep.variable.part == .logFile {
        warn(keep.variable.name, keep.value, "which has no effect without a size")
      }
      assignments.removeAll { $0.variable.part == .logFile }
      logging.rotation = nil
    }
    isLogOfCode = false
    for name in environment.keys.sorted()
    where name.hasPrefix(EnvironmentVariable.prefix) && !names.contains(name) {
      warnings.append(
        "there is no variable \(name.prefix(256)): the article \"Metrics and limits\" lists all")
    }
  }

  /// What the environment alone sets.
  var ofEnvironment: Tap.Configuration { Tap.Configuration(environment: environment) }

  /// Warns of each variable that has no effect, or in whose place the code has set something else.
  mutating func warnOfIgnoredVariables() {
    let ofEnvironment = ofEnvironment
    for taken in assignments {
      switch taken.variable.part {
      case .address where endpoint == nil, .endpoint where endpoint == nil:
        warn(taken.variable.name, taken.value, "which has no effect: the app's code sets no endpoint")
      case _ where !taken.variable.isSame(self, ofEnvironment):
        warn(taken.variable.name, taken.value, "which is ignored: the app's code sets another value")
      case .logFile where log?.isFile != true:
        warn(taken.variable.name, taken.value, "which has no effect: there is no log in a file")
      default: break
      }
    }
  }

  private mutating func warn(_ name: String, _ value: String, _ problem: String) {
    warnings.append("\(name) is '\(value)', \(problem)")
  }

  /// Whether the start goes on without the endpoint for now: because another process uses the address, or it
  /// is the environment that keeps the endpoint from listening.
  func tolerates(_ error: EndpointError) -> Bool {
    if error.code == .addressInUse { return !failsIfAddressInUse }
    let ofEnvironment = ofEnvironment
    return assignments.contains { variable, value in
      switch variable.part {
      case .address: endpoint?.address == ofEnvironment.endpoint?.address
      // A variable names the file without credentials.
      case .endpoint: System.absolute(value) == error.file && variable.isSame(self, ofEnvironment)
      case .tap, .logFile: false
      }
    }
  }
}
