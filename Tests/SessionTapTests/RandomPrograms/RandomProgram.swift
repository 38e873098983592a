/// The name of a tap, a configuration, a session or a request, as in the program's text: `t1`, `k1`, `s1`,
/// `r1`.
typealias ProgramName = String

/// A short program over the public API: a value, which can be printed, run and compared with a model.
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
    /// Reads the metrics, over HTTP where they are served.
    case scrape(ProgramName)
    /// All of these at the same time.
    case together([Step])
  }

  let seed: UInt64
  var steps: [Step]
}

extension RandomProgram: CustomStringConvertible {
  var description: String { "seed \(seed)\n" + steps.map { "\($0)" }.joined(separator: "\n") }
}
