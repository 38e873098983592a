import TestSupport

@testable import TapCore

/// No input grows memory past the limit or yields an exposition that a parser rejects.
struct HostileRunTests {
  /// In a process of its own, whose memory no other test changes.
  @Test(.needs(.processor)) func `memory and exposition stay bounded`() async {
    await #expect(processExitsWith: .success) {
      let (hosts, routes) = (AttackedRegistry.hostCount, AttackedRegistry.routeCount)
      let limit = hosts / 50
      let before = MemoryInUse.bytes
      let registry = try AttackedRegistry.make(limit: limit)
      let after = MemoryInUse.bytes
      // Series of three histograms, of a few KiB each. Kept as they came, the hosts alone would take 1 MiB
      // for each thousand of them, and the methods as much: at full length more than this.
      #expect(before > 0 && after < before + limit * 48 * 1_024 + 32 * 1_048_576)

      let text = registry.text.split(separator: "\n")
      func count(_ name: String) -> Int { text.count { $0.hasPrefix(name + "{") } }
      #expect(count("http_client_request_duration_seconds_count") == limit + 1)
      #expect(count("http_client_active_requests") == limit + 1)
      #expect(count("http_server_request_duration_seconds_count") == limit + 1)
      #expect(count("http_server_active_requests") == 4)
      #expect(text.contains("session_tap_inbound_started_requests_total \(routes)"))
      #expect(text.contains("session_tap_inbound_ended_requests_total \(routes)"))
      #expect(text.allSatisfy { $0.utf8.count < 2_000 })
      #expect(text.contains(#"session_tap_started_requests_total{client="c"} \#(hosts)"#))
      #expect(text.contains(#"session_tap_ended_requests_total{client="c"} \#(hosts)"#))
      let overflow = #"http_client_request_duration_seconds_count{otel_metric_overflow="true"} "#
      let line = text.first { $0.hasPrefix(overflow) } ?? ""
      let rest = Int(line.dropFirst(overflow.count)) ?? 0
      #expect(rest > hosts * 9 / 10)
    }
  }

  @Test(.needs(.program), .usesReferenceParser, arguments: [ExpositionFormat.text, .openMetrics])
  func `the reference parser accepts it`(format: ExpositionFormat) async throws {
    let samples = try await ReferenceParser.parse(AttackedRegistry.small.get().exposition(in: format))
    for side in ["client", "server"] {
      let count = samples.count { $0.name == "http_\(side)_request_duration_seconds_count" }
      #expect(count == AttackedRegistry.smallLimit + 1)
    }
  }

  @Test(.needs(.program), .enabled(if: Tool.isUsable("promtool"), "promtool is not installed"))
  func `promtool accepts it`() async throws {
    let result = try await Tool("promtool").run(
      ["check", "metrics"], input: AttackedRegistry.small.get().exposition().body)
    #expect(result.status == 0, "\(result.output.suffix(500))")
  }
}
