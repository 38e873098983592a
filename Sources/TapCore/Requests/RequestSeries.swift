/// What is counted and measured of requests that share labels. All of it is guarded by the lock of ``RequestFamilies``.
package enum RequestSeries {
  /// The requests for one target. One that has begun keeps it: its end counts there, whatever has expired or overflowed since.
  package final class Target: @unchecked Sendable {
    /// The most outcomes that are found without a look-up.
    private static let outcomeLimit = 8

    let labels: RequestLabels.Target
    let counts: Counts
    let client: Client
    /// The series of the target's server, once they are found.
    var server: Server?
    /// What the latest requests came to.
    private var outcomes: [Outcome] = []

    init(_ labels: RequestLabels.Target, _ counts: Counts, _ client: Client) {
      self.labels = labels
      self.counts = counts
      self.client = client
    }

    /// Most requests come to the same as the one before: what is asked for is the first from then on.
    func outcome(_ labels: RequestLabels.Outcome) -> Outcome? {
      guard let index = outcomes.firstIndex(where: { $0.labels == labels }) else { return nil }
      if index > 0 { outcomes.swapAt(0, index) }
      return outcomes[0]
    }

    func remember(_ outcome: Outcome) {
      if outcomes.count == Self.outcomeLimit { outcomes.removeLast() }
      outcomes.append(outcome)
    }

    /// Lets go of all series, so that those that expire are freed.
    func forget() { (outcomes, server) = ([], nil) }
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

  /// The series of requests for one target that came to the same.
  final class Outcome {
    let labels: RequestLabels.Outcome
    let histograms: Histograms
    /// Of phases, as far as they are found.
    var phases = [Registry.Histogram?](repeating: nil, count: RequestTimings.Phase.allCases.count)

    init(_ labels: RequestLabels.Outcome, _ histograms: Histograms) {
      self.labels = labels
      self.histograms = histograms
    }
  }

  /// The histograms of ended requests, by the place of their family. What was never known has none: unknown is not 0.
  final class Histograms: @unchecked Sendable {
    private var all = [Registry.Histogram?](repeating: nil, count: 4)

    subscript(place: Int) -> Registry.Histogram? { all[place] }

    func histogram(_ place: Int, of family: HistogramFamily) -> Registry.Histogram {
      if let known = all[place] { return known }
      let made = family.makeHistogram()
      all[place] = made
      return made
    }
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
