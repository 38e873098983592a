/// Values for the process of an exit test. Swift Testing has capture lists for this from Swift 6.3 on.
///
/// The test and its process say the same name, which one test at a time uses: a test with arguments is
/// `.serialized`.
package enum ExitValues {
  /// Leaves values for a process that this one starts.
  package static func give<each Value: Encodable>(_ name: String, _ values: repeat each Value) throws {
    var texts: [Data] = []
    for value in repeat each values { texts.append(try JSONEncoder().encode(value)) }
    try JSONEncoder().encode(texts).write(to: file(name, of: getpid()))
  }

  /// Takes the values that the parent process has left.
  package static func take<each Value: Decodable>(
    _ name: String, _ types: repeat (each Value).Type
  ) throws -> (repeat each Value) {
    let file = file(name, of: getppid())
    var texts = try JSONDecoder().decode([Data].self, from: Data(contentsOf: file))[...]
    try FileManager.default.removeItem(at: file)
    func next<T: Decodable>(_ type: T.Type) throws -> T {
      try JSONDecoder().decode(type, from: texts.popFirst() ?? Data())
    }
    return (repeat try next(each types))
  }

  private static func file(_ name: String, of process: pid_t) -> URL {
    URL(fileURLWithPath: "/tmp/session-tap-exit-\(process)-\(name)")
  }
}

extension ExitTest.Result {
  /// The lines of the package on standard error, which the test observes.
  package var said: [String] {
    String(decoding: standardErrorContent, as: UTF8.self).split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix("session-tap: ") }
  }
}
