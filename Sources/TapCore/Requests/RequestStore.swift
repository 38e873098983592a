/// The metrics of the requests of one direction, as plain values. Kept under a lock by its owner.
///
/// A request that begins finds the series of its client and its target, and keeps their ids: its end counts
/// there, whatever has expired or overflowed since. What finds no room among the targets counts in the
/// overflow series of the other tables too: a flood of new targets then costs no more than known ones.
struct RequestStore {
  private let direction: RequestDirection
  private let exemplars: ExemplarPolicy
  private var clients: RequestTable<RequestLabels.Client>
  private var targets: RequestTable<RequestLabels.Target>
  private var ends: RequestTable<End>
  private var servers: RequestTable<RequestLabels.Server>
  private var phases: RequestTable<Phase>

  /// A target has a record of each of its ends, and a server one of each of its phases, so that neither
  /// expires before them.
  private struct End: Hashable, Sendable {
    let target: SeriesID
    let outcome: RequestLabels.Outcome
  }

  private struct Phase: Hashable, Sendable {
    let server: SeriesID
    let template: String?
    let phase: RequestTimings.Phase
  }

  init(
    _ direction: RequestDirection, _ columns: RequestColumns, _ configuration: SeriesConfiguration,
    exemplars: ExemplarPolicy
  ) {
    (self.direction, self.exemplars) = (direction, exemplars)
    // What a client has counted stays: its series do not expire.
    clients = RequestTable(columns.clients, SeriesConfiguration(limit: configuration.limit))
    targets = RequestTable(columns.targets, configuration)
    ends = RequestTable(columns.ends, configuration)
    servers = RequestTable(columns.servers, configuration)
    phases = RequestTable(columns.phases, configuration)
  }

  /// Counts a request as active.
  mutating func begin(_ request: RequestDescription) -> RequestSeries {
    let client = clients.series.find(RequestLabels.Client(request), labels: \.rendered)
    let target = targets.series.find(RequestLabels.Target(request), labels: \.rendered)
    clients.begin(in: client)
    targets.begin(in: target)
    return RequestSeries(client: client, target: target)
  }

  /// Records an ended request, in the series that its begin gave among others.
  mutating func end(_ request: RequestObservation, _ begun: RequestSeries) {
    clients.record(request, in: begun.client, endsRequest: true)
    targets.record(request, in: begun.target, endsRequest: true)
    let isOverflow = targets.series.isOverflow(begun.target)
    let outcome = RequestLabels.Outcome(request)
    let end = ends.series.find(End(target: begun.target, outcome: outcome), isOverflow: isOverflow) { _ in
      let target = RequestLabels.Target(request.request)
      return RequestLabels.End(direction: direction, target: target, outcome: outcome).rendered
    }
    ends.record(request, in: end, exemplars.trace(of: request.request))
    guard direction == .outbound, servers.hasValue(of: request) || !request.timings.isEmpty else { return }
    let server = ends.next(0, of: end, in: &servers) { servers in
      servers.find(RequestLabels.Server(request.request), isOverflow: isOverflow, labels: \.rendered)
    }
    servers.record(request, in: server)
    request.timings.forEach { place, nanoseconds in
      let id = ends.next(1 + place, of: end, in: &phases) { phases in
        let phase = RequestTimings.Phase.allCases[place]
        let key = Phase(server: server, template: outcome.template, phase: phase)
        return phases.find(key, isOverflow: isOverflow) { _ in
          let server = RequestLabels.Server(request.request)
          return RequestLabels.Phase(server: server, template: outcome.template, phase: phase).rendered
        }
      }
      phases.record(seconds(nanoseconds), in: id)
    }
  }

  /// All metrics as they are now, without the series that have been idle for too long. None of a direction in
  /// which there has been no request.
  mutating func gather(at now: Instant) -> [GatheredFamily] {
    if direction == .inbound, clients.series.isEmpty { return [] }
    return clients.series.gather(at: now) + targets.series.gather(at: now) + ends.series.gather(at: now)
      + servers.series.gather(at: now) + phases.series.gather(at: now)
  }
}

/// Where a request has been counted as active, and where its end counts.
package struct RequestSeries: Sendable {
  fileprivate let client: SeriesID
  fileprivate let target: SeriesID
}

/// The series of one kind of labels.
private struct RequestTable<Key: Hashable & Sendable> {
  private let columns: [RequestColumn]
  var series: SeriesTable<Key, RequestRow>

  init(_ columns: [RequestColumn], _ configuration: SeriesConfiguration) {
    self.columns = columns
    let row = RequestRow(columns)
    series = SeriesTable(columns.map(\.column), configuration) { row }
  }

  /// Counts a request that begins. Its series does not expire before its end.
  mutating func begin(in id: SeriesID) {
    series.update(id) { row in
      row.openCount += 1
      for index in columns.indices where columns[index].atBegin > 0 {
        row.add(columns[index].atBegin, to: index, columns[index])
      }
    }
  }

  /// The series that one of this table leads to, by its place among those. It is found once, and again after
  /// it has expired. What is found from or in an overflow series is not kept: another time there may be room.
  mutating func next<Other>(
    _ place: Int, of id: SeriesID, in other: inout RequestTable<Other>,
    find: (inout SeriesTable<Other, RequestRow>) -> SeriesID
  ) -> SeriesID {
    var known: SeriesID?
    series.update(id) { known = $0.next[place] }
    if let known, other.series.contains(known) { return known }
    let found = find(&other.series)
    if !series.isOverflow(id), !other.series.isOverflow(found) {
      series.update(id) { $0.next[place] = found }
    }
    return found
  }

  func hasValue(of request: RequestObservation) -> Bool {
    for index in columns.indices where columns[index].atEnd(request) != nil { return true }
    return false
  }

  /// Records all values of an ended request: the end of it, where its begin was counted in the series.
  mutating func record(
    _ request: RequestObservation, in id: SeriesID, endsRequest: Bool = false,
    _ trace: TraceContext? = nil
  ) {
    let end = request.endTime
    series.update(id) { row in
      if endsRequest { row.openCount -= 1 }
      row.recordCount &+= 1
      for index in columns.indices {
        guard let value = columns[index].atEnd(request) else { continue }
        row.add(
          value, to: index, columns[index], trace.map { Exemplar(value: value, timestamp: end, trace: $0) })
      }
    }
  }

  /// Records a value in the one column.
  mutating func record(_ value: Double, in id: SeriesID) {
    series.update(id) { row in
      row.recordCount &+= 1
      row.add(value, to: 0, columns[0])
    }
  }
}

/// What is counted and measured of the requests that share labels: a cell for each column of their table.
private struct RequestRow: SeriesRow {
  /// Neither, where nothing is known yet: unknown is not 0.
  private struct Cell {
    var number: Double?
    var histogram: ValueHistogram?
  }

  /// The requests that have begun and not ended: they hold the row.
  var openCount = 0
  var recordCount: UInt64 = 0
  /// The series that this one leads to: of an end, those of its server and its phases.
  var next: [SeriesID?] = Array(repeating: nil, count: 1 + RequestTimings.Phase.allCases.count)
  private var cells: [Cell]

  init(_ columns: [RequestColumn]) { cells = columns.map { Cell(number: $0.initialNumber) } }

  static func isHeld(_ row: inout RequestRow) -> Bool { row.openCount > 0 }

  var activity: UInt64 { recordCount }

  func content(of column: Int) -> GatheredFamily.Content? {
    cells[column].histogram.map { .histogram($0) } ?? cells[column].number.map { .number($0) }
  }

  mutating func add(_ value: Double, to index: Int, _ column: RequestColumn, _ exemplar: Exemplar? = nil) {
    if value < 0, !column.isGauge { return column.column.dropped.increment() }
    guard let layout = column.layout else {
      cells[index].number = (cells[index].number ?? 0) + value
      return
    }
    let bucket = layout.bucket(of: value)
    let isKnown: Void? = cells[index].histogram?.record(value, in: bucket, exemplar)
    if isKnown == nil {
      cells[index].histogram = ValueHistogram(layout)
      cells[index].histogram?.record(value, in: bucket, exemplar)
    }
  }
}

extension ExemplarPolicy {
  /// The trace that an exemplar refers to.
  fileprivate func trace(of request: RequestDescription) -> TraceContext? {
    guard let trace = request.traceContext, self == .all || trace.isSampled else { return nil }
    return trace
  }
}

/// A clock that went back makes 0.
func seconds(_ nanoseconds: Int64) -> Double { Double(max(0, nanoseconds)) / 1e9 }
