import Synchronization

/// The metrics of inbound requests, and who else hears of their ends.
final class InboundRecorder: Sendable {
  let methods: KnownMethods
  private let histograms: RequestHistograms<InboundKey>
  private let ledgerDescriptors: InboundLedger.Descriptors
  private let ledger: Mutex<InboundLedger>
  private let observers: [any InboundRequestObserver]

  init(
    _ configuration: InboundRequests.Configuration, observers: [any InboundRequestObserver]
  ) throws(RegistryError) {
    methods = KnownMethods(configuration.knownMethods)
    histograms = RequestHistograms(
      try RequestFamilies(server: configuration), methods: methods, configuration.series)
    ledgerDescriptors = try InboundLedger.Descriptors()
    ledger = Mutex(InboundLedger(targets: methods.count * InboundScheme.allCases.count))
    self.observers = observers
  }

  /// Counts a request as active.
  func start(_ target: InboundTarget) {
    ledger.withLock { $0.start(target) }
  }

  /// Records requests that have ended, and tells the observers of them: one kind of work after another, whose code then
  /// stays in the processor's cache.
  func end(_ requests: [EndedInboundRequest]) {
    for request in requests {
      if request.observation.isWithinLimits {
        record(request.observation, target: request.target)
      } else {
        record(request.observation.withinLimits(), target: request.target)
      }
    }
    ledger.withLock { ledger in
      for request in requests {
        ledger.end(request.target, cancelled: request.observation.end == .cancelled)
      }
    }
    for observer in observers {
      for request in requests { observer.inboundRequestEnded(request.observation) }
    }
  }

  @inline(__always)
  private func record(_ observation: InboundObservation, target: InboundTarget) {
    histograms.record(observation, target: target, hash: InboundKey.hash(observation, target: target))
  }

  var descriptors: [FamilyDescriptor] { histograms.descriptors + ledgerDescriptors.all }

  /// An app that serves nothing exposes nothing of it.
  func gather(at now: ContinuousClock.Instant) -> [any GatheredFamily] {
    let books = ledger.withLock { $0 }
    guard books.isInUse else { return [] }
    return histograms.gather(at: now) + books.families(ledgerDescriptors, methods)
  }

  var statistics: [FamilyStatistics] {
    ledger.withLock { $0.isInUse } ? histograms.statistics : []
  }
}
