/// The name of a tap, a configuration, a session, a request or a call of `run`, as in the program's text: `t1`, `k1`, `s1`,
/// `r1`, `run1`.
typealias ProgramName = String

/// A short program over the public API: a value, which can be printed, run, compared with a model and made shorter.
struct RandomProgram: Sendable {
  enum Source: Sendable {
    case ephemeral, standard
    case configuration(ProgramName)
    /// The live configuration of a session.
    case session(ProgramName)
  }

  enum SessionMaking: Sendable {
    case stock(Source)
    case shared
  }

  enum Step: Sendable {
    case tap(ProgramName, hasEndpoint: Bool, hasLog: Bool)
    case patch(ProgramName, by: ProgramName, from: Source, client: String)
    case session(ProgramName, SessionMaking, hasDelegate: Bool)
    case install(ProgramName, on: ProgramName, client: String)
    case uninstall(ProgramName, from: ProgramName)
    /// Makes a request and waits for its end.
    case request(ProgramRequest)
    /// Makes a request and waits until the server has it, and holds it.
    case begin(ProgramRequest)
    /// Lets the server answer, and waits for the end.
    case finish(ProgramName)
    case cancel(ProgramName)
    case start(ProgramName)
    case shutdown(ProgramName)
    /// Runs a tap, in a task of its own.
    case run(ProgramName, ProgramName)
    case cancelRun(ProgramName)
    /// Reads the metrics, over HTTP where they are served.
    case scrape(ProgramName)
    /// Reads the metrics without pause on a thread, until the program ends.
    case watch(ProgramName)
    /// All of these at the same time.
    case together([Step])
  }

  let seed: UInt64
  var steps: [Step]

  /// The program without some of its steps, and without those that make no sense then.
  func without(_ places: Range<Int>) -> RandomProgram {
    var model = ProgramModel()
    var shorter = self
    shorter.steps = []
    for (place, step) in steps.enumerated() where !places.contains(place) && model.allows(step) {
      model.take(step)
      shorter.steps.append(step)
    }
    return shorter
  }

  /// The shortest program found that still fails: without halves of the steps, then quarters, and so on.
  ///
  /// - Parameter fails: Whether a program fails. Not asked any more when the time is over.
  func shrunk(within time: Duration, _ fails: (RandomProgram) async -> Bool) async -> RandomProgram {
    let deadline = ContinuousClock.now + time
    var shortest = self
    var size = steps.count / 2
    while size > 0 {
      var end = shortest.steps.count
      while end > 0, ContinuousClock.now < deadline {
        let candidate = shortest.without(max(0, end - size)..<end)
        if await fails(candidate) { shortest = candidate }
        end = min(end - size, shortest.steps.count)
      }
      size /= 2
    }
    return shortest
  }
}

extension RandomProgram: CustomStringConvertible {
  var description: String { "seed \(seed)\n" + steps.map { "\($0)" }.joined(separator: "\n") }
}
