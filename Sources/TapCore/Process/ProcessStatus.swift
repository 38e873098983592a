/// What `/proc/self/stat` tells (proc_pid_stat(5)).
struct ProcessStatus: Sendable, Hashable {
  /// Time in user and kernel mode, in clock ticks.
  let cpuTicks: UInt64
  /// When the process began, in clock ticks since the system did.
  let startTicks: UInt64
  let virtualBytes: UInt64
  let residentPages: UInt64

  init?(_ text: String) {
    // The second field is the name in parentheses, which may hold spaces and parentheses itself.
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(whereSeparator: \.isWhitespace)
    // The first of them is field 3.
    func field(_ number: Int) -> UInt64? {
      fields.indices.contains(number - 3) ? UInt64(fields[number - 3]) : nil
    }
    guard let user = field(14), let system = field(15), let start = field(22), let bytes = field(23),
      let pages = field(24)
    else { return nil }
    cpuTicks = user &+ system
    startTicks = start
    virtualBytes = bytes
    residentPages = pages
  }
}
