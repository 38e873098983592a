/// The books of inbound requests, one account for each target.
///
/// Started and ended are read together, and what is active is their difference: started = ended + active holds in
/// every snapshot.
struct InboundLedger: Sendable {
  private var accounts: [Counts]
  private var cancelled: UInt64 = 0

  init(targets count: Int) {
    accounts = Array(repeating: Counts(), count: count)
  }

  @inline(__always)
  mutating func start(_ target: InboundTarget) {
    accounts[target.number].started &+= 1
  }

  @inline(__always)
  mutating func end(_ target: InboundTarget, cancelled isCancelled: Bool) {
    accounts[target.number].ended &+= 1
    if isCancelled { cancelled &+= 1 }
  }

  /// Whether any request has begun.
  var isInUse: Bool { accounts.contains { $0.started > 0 } }

  /// The families as the books stand.
  func families(_ descriptors: Descriptors, _ methods: KnownMethods) -> [any GatheredFamily] {
    let active = accounts.enumerated().lazy.filter { $0.element.started > 0 }.map { number, counts in
      GatheredSamples.Sample(
        labels: RenderedLabels(InboundTarget(number: number).pairs(methods)),
        value: Double(counts.started &- counts.ended))
    }
    func total(_ descriptor: FamilyDescriptor, _ value: UInt64) -> any GatheredFamily {
      let sample = GatheredSamples.Sample(labels: RenderedLabels([]), value: Double(value))
      return GatheredSamples(descriptor: descriptor, samples: [sample])
    }
    return [
      GatheredSamples(descriptor: descriptors.active, samples: active),
      total(descriptors.started, accounts.reduce(0) { $0 &+ $1.started }),
      total(descriptors.ended, accounts.reduce(0) { $0 &+ $1.ended }),
      total(descriptors.cancelled, cancelled),
    ]
  }

  private struct Counts: Sendable {
    var started: UInt64 = 0
    var ended: UInt64 = 0
  }

  /// The families that follow from the books.
  struct Descriptors: Sendable {
    let active: FamilyDescriptor
    let started: FamilyDescriptor
    let ended: FamilyDescriptor
    let cancelled: FamilyDescriptor

    init() throws(RegistryError) {
      active = try FamilyDescriptor(
        name: "http_server_active_requests", help: "Requests that are being served.", type: .gauge, unit: nil)
      started = try FamilyDescriptor(
        name: "session_tap_inbound_started_requests_total", help: "Inbound requests that have begun.",
        type: .counter, unit: nil)
      ended = try FamilyDescriptor(
        name: "session_tap_inbound_ended_requests_total",
        help: "Inbound requests that have ended: with a response, with an error or by a cancel.",
        type: .counter, unit: nil)
      cancelled = try FamilyDescriptor(
        name: "session_tap_inbound_cancelled_requests_total",
        help: "Inbound requests whose callers went away, or that nobody ended.", type: .counter, unit: nil)
    }

    var all: [FamilyDescriptor] { [active, started, ended, cancelled] }
  }
}
