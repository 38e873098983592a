extension RequestLedger {
  /// The families that follow from the books.
  struct Descriptors: Sendable {
    let active: FamilyDescriptor
    let started: FamilyDescriptor
    let ended: FamilyDescriptor
    let cancelled: FamilyDescriptor

    init() throws(RegistryError) {
      active = try FamilyDescriptor(
        name: "http_client_active_requests", help: "Requests that have started and not ended.",
        type: .gauge, unit: nil)
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

    var all: [FamilyDescriptor] { [active, started, ended, cancelled] }
  }

  /// The families as the books stand.
  func families(_ descriptors: Descriptors) -> [any GatheredFamily] {
    var active: [RenderedLabels: Double] = [:]
    var clients: [String: Entry] = [:]
    for entry in entries {
      active[entry.labels, default: 0] += Double(entry.started) - Double(entry.ended)
      let labels = RenderedLabels([Labels.Pair(name: "client", value: entry.client)])
      clients[entry.client, default: Entry(client: entry.client, labels: labels)].add(entry)
    }
    func samples(_ value: (Entry) -> UInt64) -> [GatheredSamples.Sample] {
      clients.values.map { GatheredSamples.Sample(labels: $0.labels, value: Double(value($0))) }
    }
    return [
      GatheredSamples(
        descriptor: descriptors.active,
        samples: active.map { GatheredSamples.Sample(labels: $0.key, value: $0.value) }),
      GatheredSamples(descriptor: descriptors.started, samples: samples(\.started)),
      GatheredSamples(descriptor: descriptors.ended, samples: samples(\.ended)),
      GatheredSamples(descriptor: descriptors.cancelled, samples: samples(\.cancelled)),
    ]
  }
}

extension RequestLedger.Entry {
  fileprivate mutating func add(_ other: Self) {
    started &+= other.started
    ended &+= other.ended
    cancelled &+= other.cancelled
  }
}
