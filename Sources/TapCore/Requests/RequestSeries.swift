/// What is counted and measured of requests that share labels. All of it is guarded by the lock of ``RequestFamilies``.
package enum RequestSeries {
  /// The requests for one target. One that has begun keeps it: its end counts there, whatever has expired or overflowed since.
  package final class Target: @unchecked Sendable {
    /// The most ends that are found without a look-up.
    private static let endLimit = 8

    let labels: RequestLabels.Target
    let counts: Counts
    let client: Client
    /// The series of the target's server, once they are found.
    var server: Server?
    /// What the latest requests came to.
    private var ends: [End] = []

    init(_ labels: RequestLabels.Target, _ counts: Counts, _ client: Client) {
      self.labels = labels
      self.counts = counts
      self.client = client
    }

    /// Most requests come to the same as the one before: what is asked for is the first from then on.
    func end(_ labels: RequestLabels.Outcome) -> End? {
      guard let index = ends.firstIndex(where: { $0.labels == labels }) else { return nil }
      if index > 0 { ends.swapAt(0, index) }
      return ends[0]
    }

    func remember(_ end: End) {
      if ends.count == Self.endLimit { ends.removeLast() }
      ends.append(end)
    }

    /// Lets go of all series, so that those that expire are freed.
    func forget() { (ends, server) = ([], nil) }
  }

  /// What is counted of a target. Targets without room share one.
  final class Counts: @unchecked Sendable {
    var started: UInt64 = 0
    var ended: UInt64 = 0
    private(set) var redirects: UInt64 = 0

    var active: UInt64 { started &- ended }

    /// A counter never goes down: at the end of its range it stays.
    func addRedirects(_ count: UInt64) {
      let (sum, isTooLarge) = redirects.addingReportingOverflow(count)
      redirects = isTooLarge ? .max : sum
    }
  }

  /// What is counted of a client.
  final class Client: @unchecked Sendable {
    var started: UInt64 = 0
    var ended: UInt64 = 0
    var cancelled: UInt64 = 0
  }

  /// What ended requests have in common that came to the same. What was never known has no histogram: unknown is not 0.
  final class End: @unchecked Sendable {
    let labels: RequestLabels.Outcome
    /// By the place of their family.
    private var histograms: [Registry.Histogram?]
    /// Of phases, by their place, as far as they are found.
    var phases = noPhases

    init(_ labels: RequestLabels.Outcome, histogramCount: Int) {
      self.labels = labels
      histograms = Array(repeating: nil, count: histogramCount)
    }

    subscript(place: Int) -> Registry.Histogram? { histograms[place] }

    func histogram(_ place: Int, of family: HistogramFamily) -> Registry.Histogram {
      if let known = histograms[place] { return known }
      let made = family.makeHistogram()
      histograms[place] = made
      return made
    }

    /// Lets go of the phases, so that those that expire are freed.
    func forget() { phases = Self.noPhases }

    private static let noPhases = [Registry.Histogram?](
      repeating: nil, count: RequestTimings.Phase.allCases.count)
  }

  /// What connections to a server were like.
  final class Server: @unchecked Sendable {
    /// A number that changes with every record.
    var activity: UInt64 = 0
    var connections: Registry.Counter?
    var roundTrip: Registry.Histogram?
    var retransmissions: Registry.Counter?
  }
}
