import TapCore
import TapEndpoint

/// What every endpoint of a tap serves.
enum BuiltInRoutes {
  static func all(registry: Registry, readiness: Readiness) throws(RegistryError) -> [HTTPRoute] {
    [try .metrics(of: registry), .liveness(), .readiness(readiness), .page()]
  }
}
