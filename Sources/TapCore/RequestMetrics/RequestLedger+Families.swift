extension RequestLedger {
  /// The families that follow from the books.
  struct Descriptors: Sendable {
    let active: FamilyDescriptor
    let redirects: FamilyDescriptor
    let started: FamilyDescriptor
    let ended: FamilyDescriptor
    let cancelled: FamilyDescriptor

    init() throws(RegistryError) {
      active = try FamilyDescriptor(
        name: "http_client_active_requests", help: "Requests that have started and not ended.",
        type: .gauge, unit: nil)
      redirects = try FamilyDescriptor(
        name: "http_client_redirects_total", help: "Redirects that HTTP client requests followed.",
        type: .counter, unit: nil)
      started = try FamilyDescriptor(
        name: "session_tap_started_requests_total", help: "Requests that have started.", type: .counter,
        unit: nil)
      ended = try FamilyDescriptor(
        name: "session_tap_ended_requests_total",
        help: "Requests that have ended: with a response, with an error or by a cancel.", type: .counter,
        unit: nil)
      cancelled = try FamilyDescriptor(
        name: "session_tap_cancelled_requests_total", help: "Requests that the app cancelled.",
        type: .counter, unit: nil)
    }

    var all: [FamilyDescriptor] { [active, redirects, started, ended, cancelled] }
  }

  /// The families as the books stand.
  func families(_ descriptors: Descriptors) -> [any GatheredFamily] {
    // What found no room has the same labels for every client.
    var active: [RenderedLabels: Double] = [:]
    var redirects: [RenderedLabels: Double] = [:]
    for entry in entries {
      active[entry.account.labels, default: 0] +=
        Double(entry.counts.started) - Double(entry.counts.ended)
      redirects[entry.account.labels, default: 0] += Double(entry.counts.redirects)
    }
    let clients = clients.map { client, counts in
      (labels: RenderedLabels([Labels.Pair(name: "client", value: client)]), counts: counts)
    }
    func family(
      _ descriptor: FamilyDescriptor, _ value: (Counts) -> UInt64
    ) -> any GatheredFamily {
      GatheredSamples(
        descriptor: descriptor,
        samples: clients.map { GatheredSamples.Sample(labels: $0.labels, value: Double(value($0.counts))) })
    }
    return [
      GatheredSamples(
        descriptor: descriptors.active,
        samples: active.map { GatheredSamples.Sample(labels: $0.key, value: $0.value) }),
      GatheredSamples(
        descriptor: descriptors.redirects,
        samples: redirects.map { GatheredSamples.Sample(labels: $0.key, value: $0.value) }),
      family(descriptors.started, \.started),
      family(descriptors.ended, \.ended),
      family(descriptors.cancelled, \.cancelled),
    ]
  }
}
