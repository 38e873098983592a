import TestSupport

@testable import TapCore

struct ProcessMetricsTests {
  private var values: [String: Double] {
    Dictionary(
      ProcessMetrics().collect().compactMap { family in family.samples.first.map { (family.name, $0.value) } }
    ) { first, _ in first }
  }

  @Test func `parses the status of any name`() throws {
    let text =
      "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 12345 1000000 256 18446744073709551615"
    let status = try #require(ProcessStatus(text))
    let numbers = [status.userTicks + status.systemTicks, status.startTicks, status.virtualBytes]
    #expect(numbers + [status.residentPages, status.threads] == [300, 12_345, 1_000_000, 256, 4])
    // What comes behind them may be missing.
    #expect(ProcessStatus("42 (a) S" + String(repeating: " 7", count: 21))?.residentPages == 7)
    let torn = [
      "", "42 (a", "42 (a) S 1 2", "42 (a) S" + String(repeating: " x", count: 30),
      "42 (a) S" + String(repeating: " 1", count: 10), "42 (a) S" + String(repeating: " 1", count: 20),
    ]
    #expect(torn.filter { ProcessStatus($0) != nil } == [])
  }

  @Test func `parses limits and octets`() {
    let limits = """
      Limit                     Soft Limit           Hard Limit           Units
      Max open files            1024                 524288               files
      Max address space         unlimited            unlimited            bytes
      """
    let found = ["Max open files", "Max address space"].map { ProcessMetrics.limit($0, in: limits) }
    #expect(found == [1_024, 0x1p64] && ProcessMetrics.limit("Max open files", in: "") == nil)
    let counts = "TcpExt: A B\nTcpExt: 1 2\nIpExt: InOctets X OutOctets\nIpExt: 10 20 30\n"
    let octets = ["InOctets", "OutOctets", "Octets"].map { ProcessMetrics.octets($0, in: counts) }
    #expect(octets == [10, 30, nil])
    let torn = ["IpExt: InOctets\nIpExt:\n", "IpExt: InOctets\n", "", "IpExt: InOctets\nIpExt: x\n"]
    #expect(torn.compactMap { ProcessMetrics.octets("InOctets", in: $0) } == [])
  }

  #if os(Linux)
    /// With the units and help texts of other clients.
    @Test func `gives all ten`() {
      let families = ProcessMetrics().collect().map {
        "\($0.name) \($0.kind) \($0.unit ?? "-") \($0.help)"
      }
      #expect(
        Set(families) == [
          "process_cpu_seconds_total counter seconds Total user and system CPU time spent in seconds.",
          "process_open_fds gauge - Number of open file descriptors.",
          "process_max_fds gauge - Maximum number of open file descriptors.",
          "process_resident_memory_bytes gauge bytes Resident memory size in bytes.",
          "process_virtual_memory_bytes gauge bytes Virtual memory size in bytes.",
          "process_virtual_memory_max_bytes gauge bytes Maximum amount of virtual memory available in bytes.",
          "process_start_time_seconds gauge seconds Start time of the process since unix epoch in seconds.",
          "process_threads gauge - Number of OS threads in the process.",
          "process_network_receive_bytes_total counter bytes "
            + "Number of bytes received by the process over the network.",
          "process_network_transmit_bytes_total counter bytes "
            + "Number of bytes sent by the process over the network.",
        ])
    }

    @Test(arguments: [("receive", "InOctets"), ("transmit", "OutOctets")])
    func `gives what the network counts, in each direction`(direction: String, field: String) throws {
      func octets() throws -> Double {
        try #require(ProcessMetrics.octets(field, in: ProcessMetrics.read("/proc/self/net/netstat") ?? ""))
      }
      let (before, value, after) = (
        try octets(), try #require(values["process_network_\(direction)_bytes_total"]), try octets()
      )
      #expect((before...after).contains(value))
    }

    @Test func `counts the time in the kernel too`() throws {
      func ticks() throws -> (system: Double, all: Double) {
        let status = try #require(ProcessStatus(ProcessMetrics.read("/proc/self/stat") ?? ""))
        return (status.systemTicks, status.userTicks + status.systemTicks)
      }
      let deadline = Deadline()
      while try ticks().system < 1 { try deadline.check("a tick in the kernel") }
      let (before, seconds, after) = (
        try ticks().all, try #require(values["process_cpu_seconds_total"]), try ticks().all
      )
      let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
      #expect((before...after).contains((seconds * ticksPerSecond).rounded()))
    }

    @Test(.enabled(if: Tool.isUsable("ps"), "ps is not installed"))
    func `agrees with ps`() async throws {
      func age(_ values: [String: Double]) -> Double {
        Date().timeIntervalSince1970 - (values["process_start_time_seconds"] ?? 0)
      }
      let before = values
      let youngest = age(before)
      let output = try await Tool("ps").run(
        ["-o", "rss=,vsz=,etimes=,nlwp=", "-p", "\(ProcessInfo.processInfo.processIdentifier)"]
      ).output
      let oldest = age(values)
      let printed = output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
      try #require(printed.count == 4)
      func value(_ name: String) -> Double { before["process_" + name] ?? -1 }
      // Other tests run meanwhile: what ps says lies near what was read before.
      let (resident, virtual) = (value("resident_memory_bytes"), value("virtual_memory_bytes"))
      #expect(abs(printed[0] * 1_024 - resident) < resident / 2 + 64e6)
      #expect(abs(printed[1] * 1_024 - virtual) < virtual / 2 + 512e6)
      // In whole seconds; the time of the start is known to a hundredth, the system's boot to a second.
      #expect((youngest - 3...oldest + 3).contains(printed[2]))
      #expect(abs(printed[3] - value("threads")) < 64)
    }

    /// In a process of its own, where hardly anything else opens files.
    @Test(.needs(.program)) func `counts open files, and gives the limits`() async {
      await #expect(processExitsWith: .success) {
        var files = rlimit(rlim_cur: 1_000, rlim_max: 2_000)
        try #require(setrlimit(__rlimit_resource_t(7), &files) == 0)  // RLIMIT_NOFILE
        var memory = rlimit()
        getrlimit(__rlimit_resource_t(9), &memory)  // RLIMIT_AS
        memory.rlim_cur = 1 << 47
        try #require(setrlimit(__rlimit_resource_t(9), &memory) == 0)
        let limits = ProcessMetricsTests().values
        #expect(limits["process_max_fds"] == 1_000)
        #expect(limits["process_virtual_memory_max_bytes"] == 0x1p47)
        func count() throws -> Double {
          Double(try OpenDescriptors.count)
        }
        try await Poll.until(seconds: 20, "count of open files that is that of the metric") {
          let (before, values, after) = (try count(), ProcessMetricsTests().values, try count())
          return before == after && values["process_open_fds"] == after
        }
      }
    }
  #endif

  @Test func `target info has the resource, of at most 64 attributes`() throws {
    let all = "service.name=other,deployment.environment=prod"
    let rows: [(name: String?, attributes: String?, labels: String)] = [
      ("shop", nil, #"service_name="shop""#),
      ("shop", all, #"deployment_environment="prod",service_name="shop""#),
      (nil, "service.name=a%20b, team = x,=y,z,le=1,1st=2,%=%zz", #"_="%zz",service_name="a b",team="x""#),
      (nil, " a\t=\n1 , b = %202%20\t\r\n", #"a="1",b=" 2 ""#),
      ("", "service.name=other,query=a=b,query=c", #"query="a=b",service_name="other""#),
      (nil, "a=,a=2,b=3", #"b="3""#),
    ]
    for row in rows {
      let registry = Registry()
      try registry.register(TargetInfo(serviceName: row.name, resourceAttributes: row.attributes))
      let head = ["# HELP target_info The service and what it runs on.", "# TYPE target_info gauge"]
      #expect(registry.lines == head + ["target_info{\(row.labels)} 1"])
    }
    let many = (0..<100).map { "a\($0)=x" }.joined(separator: ",")
    // The service's name is one of them.
    for name in [nil, "shop"] {
      let family = TargetInfo(serviceName: name, resourceAttributes: many).collect().first
      #expect(family?.samples.first?.labels.pairs.count == 64)
    }
    #expect(TargetInfo(serviceName: "", resourceAttributes: nil).collect().isEmpty)
  }

  @Test func `build info has the sources of the moment, and its own version`() throws {
    let source = Mutex("none")
    let registry = Registry()
    try registry.register(BuildInfo { ["transfer_info": source.withLock { $0 }, "version": "other"] })
    for name in ["none", "libcurl"] {
      source.withLock { $0 = name }
      let labels = #"transfer_info="\#(name)",version="\#(BuildInfo.version)""#
      #expect(registry.lines.last == "session_tap_build_info{\(labels)} 1")
    }
  }
}
