import TapCore
import TapEndpoint

/// What took the time of one request, in sentences: the longest phase, what the app can change, and how it
/// differs from the mean of its kind.
struct PhaseVerdict {
  /// In seconds.
  let time: Double
  let phases: [RequestTimings.Phase: Double]
  var roundTrip: Double?
  var cutOff: RequestTimings.Phase?
  var isAnswered = true
  /// The mean of the requests of its kind.
  var usual: (count: Int, time: Double, phases: [RequestTimings.Phase: Double])?

  /// A phase, or the time in none.
  private struct Piece {
    let name: String
    let words: String
    let time: Double
    var phase: RequestTimings.Phase?
  }

  private var pieces: [Piece] {
    let known = RequestTimings.Phase.allCases.compactMap { phase in
      phases[phase].map { Piece(name: phase.rawValue, words: Words.phase(phase), time: $0, phase: phase) }
    }
    let rest = time - known.reduce(0) { $0 + $1.time }
    return rest > time / 200 ? known + [Piece(name: "unknown", words: Words.noPhase, time: rest)] : known
  }

  var sentences: [String] { [difference, longest].compactMap { $0 } }

  private var difference: String? {
    guard let usual, usual.count > 1, usual.time > 0 else { return nil }
    let more = time - usual.time
    let theirs = "the mean of \(usual.count) requests like it, \(Words.seconds(usual.time))"
    if more < usual.time / 2 {
      return "It took \(Words.seconds(time)): \(more < 0 ? "less than" : "about") \(theirs)."
    }
    let growths = pieces.filter { $0.phase != nil }.map { piece in
      (piece.name, time: piece.time - (piece.phase.flatMap { usual.phases[$0] } ?? 0))
    }
    let largest = growths.max { $0.time < $1.time }.flatMap { $0.time > more / 4 ? $0 : nil }
    return "It took \(Words.seconds(more)) longer than \(theirs)"
      + (largest.map { ": \(Words.seconds($0.time)) more in \($0.0)" } ?? "") + "."
  }

  /// The answer takes at least one round trip: the rest of `processing` is the server's, unless there was
  /// none.
  private var longest: String? {
    guard time > 0, let most = pieces.max(by: { $0.time < $1.time }), !phases.isEmpty else { return nil }
    var words = most.words
    var more = ""
    if let cutOff {
      more = " It was cut off in \(cutOff.rawValue): its whole time is unknown."
    } else if !isAnswered {
      more = " No answer came."
    } else if most.phase == .processing, let roundTrip {
      words = roundTrip > most.time / 2 ? "the network's way there and back" : "the server's work"
      more = " The network's round trip is \(Words.seconds(roundTrip)) of \(Words.seconds(most.time))."
    } else if let slow = most.phase.flatMap(Self.server) {
      words += ", by the network or a server that \(slow) slowly"
    }
    return "\(Words.number(100 * most.time / time)) % is \(most.name): \(words).\(more)\(remedy(most))"
  }

  /// What a slow server does in a phase in which the network may be slow instead.
  private static func server(_ phase: RequestTimings.Phase) -> String? {
    let verbs: [RequestTimings.Phase: String] = [
      .connect: "accepts", .upload: "reads", .response: "answers", .transfer: "writes",
    ]
    return verbs[phase]
  }

  /// The largest part that the app can change, if it is a tenth of the time and at least 10 ms. Without an
  /// answer there was no connection to keep.
  private func remedy(_ most: Piece) -> String {
    let hasAnswer = [.processing, .response, .transfer].contains { phases[$0] != nil }
    let parts: [(name: String, phases: [RequestTimings.Phase], remedy: RequestTimings.Phase)] = [
      ("queue", [.queue], .queue), ("connecting", hasAnswer ? [.resolve, .connect, .tls] : [], .connect),
      ("local", [.local], .local),
    ]
    let sums = parts.map { part in (part, time: part.phases.reduce(0) { $0 + (phases[$1] ?? 0) }) }
    guard let (part, sum) = sums.max(by: { $0.time < $1.time }), sum >= max(time / 10, 0.01),
      let remedy = Words.remedy(part.remedy)
    else { return "" }
    if let phase = most.phase, part.phases.contains(phase) { return " The app can change it: \(remedy)." }
    return
      " The app can change \(Words.number(100 * sum / time)) %: \(part.name) took \(Words.seconds(sum)); \(remedy)."
  }
}

extension EndpointRoute {
  /// What took the time of a request whose phases are in the query, as the page shows it beside them.
  static let verdict = immediate("/page/verdict") { request in
    .uncached(
      "text/plain; charset=utf-8",
      Array(PhaseVerdict(request.queryItems).sentences.joined(separator: "\n").utf8))
  }
}

extension PhaseVerdict {
  /// Reads `time`, the phases by name, `round_trip`, `cut`, `answered`, and of the mean `count`, `mean` and
  /// the phases as `mean_queue`. Ignores what is no time.
  init(_ items: [(name: String, value: String)]) {
    let values = Dictionary(items.prefix(64).map { ($0.name, $0.value) }) { $1 }
    func time(_ name: String) -> Double? {
      values[name].flatMap(Double.init).flatMap { (0...1e9).contains($0) ? $0 : nil }
    }
    func phases(_ prefix: String) -> [RequestTimings.Phase: Double] {
      let known = RequestTimings.Phase.allCases.compactMap { phase in
        time(prefix + phase.rawValue).map { (phase, $0) }
      }
      return Dictionary(known) { $1 }
    }
    self.init(
      time: time("time") ?? 0, phases: phases(""), roundTrip: time("round_trip"),
      cutOff: values["cut"].flatMap(RequestTimings.Phase.init(rawValue:)),
      isAnswered: values["answered"] != "no",
      usual: time("mean").map { (Int(time("count") ?? 0), $0, phases("mean_")) })
  }
}
