/// The standard metrics of a process, `process_cpu_seconds_total` to `process_threads`, from `/proc`.
///
/// Omits what cannot be read; without `/proc` that is everything. `process_heap_bytes` is not among them:
/// glibc tells it by a walk under the locks of `malloc` (`mallinfo2`), musl does not, and `VmData` has stacks
/// as well.
package struct ProcessMetrics: Collector {
  private let ticksPerSecond: Double
  private let pageSize: Double
  /// When the system booted, in seconds since 1970.
  private let bootTime: Double?

  package init() {
    ticksPerSecond = Double(System.ticksPerSecond)
    pageSize = Double(System.pageSize)
    bootTime = Self.read("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
      .flatMap { Double($0.dropFirst("btime ".count)) }
  }

  /// The families that can be read.
  package func collect() -> [MetricFamily] {
    let status = Self.read("/proc/self/stat").flatMap(ProcessStatus.init)
    let limits = Self.read("/proc/self/limits") ?? ""
    let network = Self.read("/proc/self/net/netstat") ?? ""
    // One of the descriptors is that of the directory being read.
    let openFiles = (try? System.names(inFolder: "/proc/self/fd")).map { Double($0.count - 1) }
    let cpu = status.map { ($0.userTicks + $0.systemTicks) / ticksPerSecond }
    let start = status.flatMap { status in bootTime.map { $0 + status.startTicks / ticksPerSecond } }
    let addressSpace = Self.limit("Max address space", in: limits)
    let (received, sent) = (Self.octets("InOctets", in: network), Self.octets("OutOctets", in: network))
    // The help texts of Prometheus's "Writing client libraries", and of client_golang for the network: a
    // Pushgateway, which has these metrics itself, complains about others.
    return [
      ("cpu_seconds_total", "Total user and system CPU time spent in seconds.", cpu),
      ("open_fds", "Number of open file descriptors.", openFiles),
      ("max_fds", "Maximum number of open file descriptors.", Self.limit("Max open files", in: limits)),
      ("resident_memory_bytes", "Resident memory size in bytes.", status.map { $0.residentPages * pageSize }),
      ("virtual_memory_bytes", "Virtual memory size in bytes.", status?.virtualBytes),
      ("virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", addressSpace),
      ("start_time_seconds", "Start time of the process since unix epoch in seconds.", start),
      ("threads", "Number of OS threads in the process.", status?.threads),
      (
        "network_receive_bytes_total", "Number of bytes received by the process over the network.", received
      ),
      ("network_transmit_bytes_total", "Number of bytes sent by the process over the network.", sent),
    ].compactMap(Self.family)
  }

  /// The text of a file, or `nil` if it cannot be read or is longer than a mebibyte.
  static func read(_ path: String) -> String? {
    (try? System.contents(ofPath: path, limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// A soft limit of `/proc/self/limits`.
  static func limit(_ name: String, in text: String) -> Double? {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let value = line.dropFirst(name.count).split(separator: " ").first
    else { return nil }
    // As the other clients do, "unlimited" is the greatest number that the limit could have.
    return value == "unlimited" ? Double(UInt64.max) : Double(value)
  }

  /// A count of `/proc/self/net/netstat` about the network of the process: bytes of IP packets, loopback
  /// included. Two lines begin with `IpExt:`, the first with names and the second with values.
  static func octets(_ name: String, in text: String) -> Double? {
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("IpExt:") }.map { $0.split(separator: " ") }
    guard lines.count == 2, let index = lines[0].firstIndex(where: { $0 == name }), index < lines[1].count
    else { return nil }
    return Double(lines[1][index])
  }

  private static func family(_ name: String, _ help: String, _ value: Double?) -> MetricFamily? {
    guard let value else { return nil }
    return MetricFamily(
      name: "process_" + name, help: help, kind: name.hasSuffix("_total") ? .counter : .gauge,
      unit: ["seconds", "bytes"].first { name.contains("_" + $0) }, samples: [.init(value: value)])
  }
}

/// The content of `/proc/self/stat` (proc_pid_stat(5)). Times are in clock ticks, the start since the boot of
/// the system.
struct ProcessStatus {
  let userTicks, systemTicks, threads, startTicks, virtualBytes, residentPages: Double

  init?(_ text: String) {
    // The second field is the name in parentheses, which may hold spaces and parentheses itself.
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(whereSeparator: \.isWhitespace)
    // The first of them is field 3.
    let numbers = [14, 15, 20, 22, 23, 24].compactMap { fields.count > $0 - 3 ? Double(fields[$0 - 3]) : nil }
    guard numbers.count == 6 else { return nil }
    (userTicks, systemTicks, threads) = (numbers[0], numbers[1], numbers[2])
    (startTicks, virtualBytes, residentPages) = (numbers[3], numbers[4], numbers[5])
  }
}
