/// One thing that a hostile or broken client does, and the statuses that it is answered with.
struct TortureProbe: Sendable {
  enum Step: Sendable {
    case send(String)
    case sendBytes([UInt8])
    /// One byte a segment.
    case trickle(String)
    case endOutput
    /// Closes with a reset, and ends the probe.
    case reset
    /// Goes away without reading.
    case leave
    /// Reads until that many heads of answers have come.
    case receive(answers: Int)
  }

  var name: String
  var steps: [Step]
  /// The status codes of all answers until the server closes; `nil` if nobody reads them.
  var statuses: [Int]?

  init(_ name: String, _ steps: [Step], _ statuses: [Int]?) {
    self.name = name
    self.steps = steps
    self.statuses = statuses
  }

  /// Sends a text and reads to the end.
  init(_ name: String, _ text: String, _ statuses: [Int]) {
    self.init(name, [.send(text)], statuses)
  }
}
