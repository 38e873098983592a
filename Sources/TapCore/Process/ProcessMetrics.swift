/// The standard metrics of a process, `process_cpu_seconds_total` to `process_start_time_seconds`, from `/proc`.
///
/// Omits what cannot be read; without `/proc` that is everything.
public struct ProcessMetrics: Collector {
  private let ticksPerSecond: Double
  private let pageSize: Double
  /// When the system began, in seconds since 1970.
  private let bootTime: Double?

  /// Makes the collector.
  public init() {
    ticksPerSecond = Double(System.ticksPerSecond)
    pageSize = Double(System.pageSize)
    bootTime = ProcFile.read("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
      .flatMap { Double($0.dropFirst("btime ".count)) }
  }

  /// The families that can be read.
  public func collect() -> [MetricFamily] {
    let status = ProcFile.read("/proc/self/stat").flatMap(ProcessStatus.init)
    let limits = ProcFile.read("/proc/self/limits").map(ProcessLimits.init)
    let network = ProcFile.read("/proc/self/net/netstat").flatMap(NetworkOctets.init)
    // One of the descriptors is that of the directory being read.
    let openFiles = System.names(inFolder: "/proc/self/fd").map { Double($0.count - 1) }
    return [
      family(
        "cpu_seconds_total", "User and system CPU time.", .counter, unit: "seconds",
        status.map { Double($0.cpuTicks) / ticksPerSecond }),
      family("open_fds", "Open file descriptors.", .gauge, openFiles),
      family("max_fds", "Most file descriptors that may be open.", .gauge, limits?.openFiles),
      family(
        "resident_memory_bytes", "Resident memory.", .gauge, unit: "bytes",
        status.map { Double($0.residentPages) * pageSize }),
      family(
        "virtual_memory_bytes", "Virtual memory.", .gauge, unit: "bytes",
        status.map { Double($0.virtualBytes) }),
      family(
        "virtual_memory_max_bytes", "Most virtual memory that may be used.", .gauge, unit: "bytes",
        limits?.addressSpace),
      family(
        "start_time_seconds", "When the process began, in seconds since 1970.", .gauge, unit: "seconds",
        startTime(status)),
      family(
        "network_receive_bytes_total", "Bytes received over the network that the process sees.", .counter,
        unit: "bytes", network.map { Double($0.received) }),
      family(
        "network_transmit_bytes_total", "Bytes sent over the network that the process sees.", .counter,
        unit: "bytes", network.map { Double($0.sent) }),
    ].compactMap { $0 }
  }

  private func startTime(_ status: ProcessStatus?) -> Double? {
    guard let status, let bootTime else { return nil }
    return bootTime + Double(status.startTicks) / ticksPerSecond
  }

  private func family(
    _ name: String, _ help: String, _ kind: MetricFamily.Kind, unit: String? = nil, _ value: Double?
  ) -> MetricFamily? {
    value.map {
      MetricFamily(
        name: "process_" + name, help: help, kind: kind, unit: unit, samples: [.init(value: $0)])
    }
  }
}

/// The files of the Linux kernel under `/proc`. On other systems there are none.
enum ProcFile {
  /// The file's text, or `nil` if it cannot be read or is longer than a mebibyte.
  static func read(_ path: String) -> String? {
    System.contents(ofPath: path, limit: 1 << 20).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// The content of `/proc/self/stat` (proc_pid_stat(5)).
struct ProcessStatus: Sendable, Hashable {
  /// Time in user and kernel mode, in clock ticks.
  let cpuTicks: UInt64
  /// When the process began, in clock ticks since the boot of the system.
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

/// The content of `/proc/self/limits`: the soft limits.
struct ProcessLimits: Sendable, Hashable {
  /// `nil` if the file does not have it.
  let openFiles: Double?
  let addressSpace: Double?

  init(_ text: String) {
    func soft(_ name: String) -> Double? {
      guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
        let value = line.dropFirst(name.count).split(separator: " ").first
      else { return nil }
      // As the other clients do, "unlimited" is the greatest number that the limit could have.
      return value == "unlimited" ? Double(UInt64.max) : Double(value)
    }
    openFiles = soft("Max open files")
    addressSpace = soft("Max address space")
  }
}

/// The content of `/proc/self/net/netstat` about the network of the process: bytes of IP packets, loopback included.
struct NetworkOctets: Sendable, Hashable {
  let received: UInt64
  let sent: UInt64

  /// Two lines begin with `IpExt:`, the first with names and the second with values.
  init?(_ text: String) {
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("IpExt:") }
      .map { $0.split(separator: " ") }
    guard lines.count == 2 else { return nil }
    func value(_ name: String) -> UInt64? {
      guard let index = lines[0].firstIndex(where: { $0 == name }), index < lines[1].count else { return nil }
      return UInt64(lines[1][index])
    }
    guard let received = value("InOctets"), let sent = value("OutOctets") else { return nil }
    self.received = received
    self.sent = sent
  }
}
