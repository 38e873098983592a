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
  /// `nil` where nothing shows it.
  private var history: RequestHistory?
  var underWay: RequestsUnderWay

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
    exemplars: ExemplarPolicy, historyStart: Instant? = nil, waitingLimit: Duration? = nil
  ) {
    (self.direction, self.exemplars) = (direction, exemplars)
    history = historyStart.map { RequestHistory(bounds: columns.durationBounds, start: $0) }
    // What a client has counted stays: its series do not expire.
    clients = RequestTable(columns.clients, SeriesConfiguration(limit: configuration.limit))
    // To its client.
    targets = RequestTable(columns.targets, configuration, nextCount: 1)
    // To its server and its phases.
    ends = RequestTable(columns.ends, configuration, nextCount: 1 + RequestTimings.Phase.allCases.count)
    servers = RequestTable(columns.servers, configuration)
    phases = RequestTable(columns.phases, configuration)
    underWay = RequestsUnderWay(limit: waitingLimit)
  }

  /// Counts a request as active.
  mutating func begin(_ request: borrowing RequestDescription) -> RequestSeries {
    let target = targets.series.find(RequestLabels.Target(request), labels: \.rendered)
    let next = targets.begin(in: target)
    let client: SeriesID
    if let known = clients.series.known(next[0]) {
      client = known
    } else {
      client = clients.series.find(RequestLabels.Client(request), labels: \.rendered)
      targets.lead(from: target, 0, to: client, isOverflow: clients.series.isOverflow(client))
    }
    clients.begin(in: client)
    return RequestSeries(client: client, target: target)
  }

  /// Records an ended request, in the series that its begin gave among others.
  ///
  /// - Parameter now: For the history.
  mutating func end(
    _ request: borrowing RequestObservation, _ begun: RequestSeries, at now: @autoclosure () -> Instant = .now
  ) {
    clients.record(request, in: begun.client, endsRequest: true)
    targets.record(request, in: begun.target, endsRequest: true)
    let isOverflow = targets.series.isOverflow(begun.target)
    let key = End(target: begun.target, outcome: RequestLabels.Outcome(request))
    let end: SeriesID
    if let known = ends.series.findWithoutLabels(key, isOverflow: isOverflow) {
      end = known
    } else {
      let target = RequestLabels.Target(request.request)
      let labels = RequestLabels.End(direction: direction, target: target, outcome: key.outcome)
      end = ends.series.find(key, labels: labels.rendered)
    }
    if history != nil { keepHistory(of: end, request, at: now()) }
    let next = ends.record(request, in: end, exemplars.trace(of: request.request))
    guard direction == .outbound, !request.timings.isEmpty || servers.hasValue(of: request) else { return }
    let server: SeriesID
    if let known = servers.series.known(next[0]) {
      server = known
    } else {
      let key = RequestLabels.Server(request.request)
      server = servers.series.find(key, isOverflow: isOverflow, labels: \.rendered)
      ends.lead(from: end, 0, to: server, isOverflow: servers.series.isOverflow(server))
    }
    servers.record(request, in: server)
    for (place, nanoseconds) in request.timings.values.enumerated() where nanoseconds >= 0 {
      let id =
        phases.series.known(next[1 + place]) ?? findPhase(place, request.request, of: end, isOverflow, server)
      phases.record(seconds(nanoseconds), in: id)
    }
  }

  /// Finds the series of a phase, to which the end leads from now on.
  private mutating func findPhase(
    _ place: Int, _ request: borrowing RequestDescription, of end: SeriesID, _ isOverflow: Bool,
    _ server: SeriesID
  ) -> SeriesID {
    let (phase, template) = (RequestTimings.Phase.allCases[place], request.urlTemplate?.asLabel)
    let key = Phase(server: server, template: template, phase: phase)
    let id: SeriesID
    if let known = phases.series.findWithoutLabels(key, isOverflow: isOverflow) {
      id = known
    } else {
      let server = RequestLabels.Server(request)
      let labels = RequestLabels.Phase(server: server, template: template, phase: phase)
      id = phases.series.find(key, labels: labels.rendered)
    }
    ends.lead(from: end, 1 + place, to: id, isOverflow: phases.series.isOverflow(id))
    return id
  }

  /// All metrics as they are now, without the series that have been idle for too long. None of a direction in
  /// which there has been no request.
  mutating func gather(at now: Instant) -> [GatheredFamily] {
    closeHistory(at: now)
    underWay.removeReleased()
    targets.clearAges()
    underWay.forEachActive { series, start in
      targets.raiseAge(to: seconds(now.nanoseconds - start.nanoseconds), in: series.target)
    }
    if direction == .inbound, clients.series.isEmpty { return [] }
    return clients.series.gather(at: now) + targets.series.gather(at: now) + ends.series.gather(at: now)
      + servers.series.gather(at: now) + phases.series.gather(at: now)
  }
}

extension RequestStore {
  /// What has been added in the last ten minutes; `nil` without a history.
  mutating func history(at now: Instant) -> RequestHistory.Window? {
    closeHistory(at: now)
    return history.map { $0.window(values(of: $0.changed), at: now) }
  }

  /// Before the request is recorded in the series.
  private mutating func keepHistory(
    of id: SeriesID, _ request: borrowing RequestObservation, at now: Instant
  ) {
    closeHistory(at: now)
    if history?.hasChange(of: id) == false, let before = ends.durations(of: id) { history?.begin(id, before) }
    history?.keep(request, of: id)
  }

  private mutating func closeHistory(at now: Instant) {
    guard history?.mustClose(at: now) == true, let changed = history?.changed else { return }
    let values = values(of: changed)
    history?.close(values, at: now)
  }

  private func values(of changed: [SeriesID]) -> [SeriesID: RequestHistory.Values] {
    Dictionary(uniqueKeysWithValues: changed.compactMap { id in ends.durations(of: id).map { (id, $0) } })
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

  /// - Parameter nextCount: How many series of other tables each one leads to.
  init(_ columns: [RequestColumn], _ configuration: SeriesConfiguration, nextCount: Int = 0) {
    self.columns = columns
    let row = RequestRow(columns, nextCount: nextCount)
    series = SeriesTable(columns.map(\.column), configuration) { row }
  }

  /// Counts a request that begins. Its series does not expire before its end.
  ///
  /// - Returns: The series that this one leads to.
  @discardableResult
  mutating func begin(in id: SeriesID) -> [SeriesID?] {
    var next: [SeriesID?] = []
    series.update(id) { row in
      row.openCount += 1
      for index in columns.indices where columns[index].atBegin > 0 {
        row.add(columns[index].atBegin, to: index, columns[index])
      }
      next = row.next
    }
    return next
  }

  /// Records all values of an ended request: the end of it, where its begin was counted in the series.
  ///
  /// - Returns: The series that this one leads to.
  @discardableResult
  mutating func record(
    _ request: borrowing RequestObservation, in id: SeriesID, endsRequest: Bool = false,
    _ trace: TraceContext? = nil
  ) -> [SeriesID?] {
    var next: [SeriesID?] = []
    series.update(id) { row in
      if endsRequest { row.openCount -= 1 }
      row.recordCount &+= 1
      for index in columns.indices {
        guard let value = columns[index].atEnd.value(of: request) else { continue }
        if row.add(value, to: index, columns[index]), let trace {
          row.keep(Exemplar(value: value, timestamp: request.endTime, trace: trace), in: index)
        }
      }
      next = row.next
    }
    return next
  }

  /// The values of the first column; `nil` once the series is gone.
  func durations(of id: SeriesID) -> RequestHistory.Values? {
    guard let labels = series.labels(of: id), let row = series[id] else { return nil }
    guard case .histogram(let histogram) = row.content(of: 0) else {
      return RequestHistory.Values(labels: labels, sum: 0, counts: [])
    }
    return RequestHistory.Values(labels: labels, sum: histogram.sum, counts: histogram.counts)
  }

  /// Sets the ages of all series to 0.
  mutating func clearAges() {
    guard let index = columns.firstIndex(where: \.isAge) else { return }
    series.updateAll { $0.set(0, index) }
  }

  /// Sets the age of a series, unless it has a higher one.
  mutating func raiseAge(to age: Double, in id: SeriesID) {
    guard let index = columns.firstIndex(where: \.isAge) else { return }
    series.update(id) { $0.set(max($0.number(index), age), index) }
  }

  /// Records a value in the one column.
  mutating func record(_ value: Double, in id: SeriesID) {
    series.update(id) { row in
      row.recordCount &+= 1
      row.add(value, to: 0, columns[0])
    }
  }

  /// Has a series lead to one of another table, from now on until that one expires. What is found from or in
  /// an overflow series is not kept: another time there may be room.
  mutating func lead(from id: SeriesID, _ place: Int, to other: SeriesID, isOverflow: Bool) {
    if !isOverflow, !series.isOverflow(id) { series.update(id) { $0.next[place] = other } }
  }

  func hasValue(of request: borrowing RequestObservation) -> Bool {
    for index in columns.indices where columns[index].atEnd.value(of: request) != nil { return true }
    return false
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
  /// The series of other tables that this one leads to, once they are known.
  var next: [SeriesID?]
  private var cells: [Cell]

  init(_ columns: [RequestColumn], nextCount: Int) {
    next = Array(repeating: nil, count: nextCount)
    cells = columns.map { Cell(number: $0.initialNumber) }
  }

  static func isHeld(_ row: inout RequestRow) -> Bool { row.openCount > 0 }

  var activity: UInt64 { recordCount }

  func content(of column: Int) -> GatheredFamily.Content? {
    cells[column].histogram.map { .histogram($0) } ?? cells[column].number.map { .number($0) }
  }

  /// - Returns: Whether the value counts.
  @discardableResult
  mutating func add(_ value: Double, to index: Int, _ column: RequestColumn) -> Bool {
    if value < 0, !column.isGauge {
      column.column.dropped.increment()
      return false
    }
    if let layout = column.layout {
      if cells[index].histogram == nil { cells[index].histogram = ValueHistogram(layout) }
      cells[index].histogram?.record(value)
    } else {
      cells[index].number = (cells[index].number ?? 0) + value
    }
    return true
  }

  func number(_ index: Int) -> Double { cells[index].number ?? 0 }

  mutating func set(_ number: Double, _ index: Int) { cells[index].number = number }

  mutating func keep(_ exemplar: Exemplar, in index: Int) { cells[index].histogram?.keep(exemplar) }
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
