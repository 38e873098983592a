import TapCore
import TapEndpoint

/// What every endpoint of a tap serves.
enum BuiltInRoutes {
  static func all(registry: Registry) throws(RegistryError) -> [HTTPRoute] {
    [try .metrics(of: registry), .liveness(), HTTPRoute("/", immediate: { _ in .text(index) })]
  }

  private static let index = """
    SessionTap \(BuildInfo.version)

    /metrics   what this process's URLSessions do, for Prometheus
    /healthz   answers "ok" while the process serves

    """
}
