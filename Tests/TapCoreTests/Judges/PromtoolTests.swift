import TestSupport

@testable import TapCore

@Suite(.enabled(if: Tool.isUsable("promtool"), "promtool is not installed")) struct PromtoolTests {
  private func check(_ registry: Registry) async throws -> Tool.Result {
    try await Tool("promtool").run(["check", "metrics"], input: registry.exposition().body)
  }

  @Test(arguments: 1...Extent.of(1, extensive: 3))
  func `parses random registries`(seed: Int) async throws {
    var random = try RandomRegistry(seed: seed)
    random.recordSome()
    let result = try await check(random.registry)
    // 3 is for advice about names; 1 would be a parse error.
    #expect(result.status == 0 || result.status == 3, "\(result.output)")
  }

  @Test func `has no advice about our own metrics`() async throws {
    let result = try await check(.withOwnMetrics())
    #expect(result.status == 0, "\(result.output)")
  }
}
