#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The standard metrics of a process, `process_cpu_seconds_total` to `process_start_time_seconds`, from `/proc`.
///
/// What cannot be read is left out; on a system without `/proc` that is everything.
public struct ProcessMetrics: Collector {
  private let ticksPerSecond: Double
  private let pageSize: Double
  /// When the system began, in seconds since 1970.
  private let bootTime: Double?

  /// Makes the collector.
  public init() {
    ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    pageSize = Double(max(1, sysconf(Int32(_SC_PAGESIZE))))
    bootTime = ProcFile.read("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
      .flatMap { Double($0.dropFirst("btime ".count)) }
  }

  /// The families that can be read.
  public func collect() -> [MetricFamily] {
    let status = ProcFile.read("/proc/self/stat").flatMap(ProcessStatus.init)
    let limits = ProcFile.read("/proc/self/limits").map(ProcessLimits.init)
    let network = ProcFile.read("/proc/self/net/netstat").flatMap(NetworkOctets.init)
    // One of the descriptors is that of the directory being read.
    let openFiles = ProcFile.entryCount("/proc/self/fd").map { Double($0 - 1) }
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
