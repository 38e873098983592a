import Foundation
import SessionTap

extension Benchmark {
  /// Heap memory of one series, its labels and its place in the family included, after 1,000 lognormal
  /// observations; beside one that has none.
  static let seriesBytes = Benchmark(
    "series.bytes", unit: "B", reference: "a series without observations", rounds: 3,
    value: { try bytesPerSeries(observations: 1_000) },
    referenceValue: { try bytesPerSeries(observations: 0) })

  private static let seriesCount = 1_500

  private static func bytesPerSeries(observations: Int) throws -> Double {
    let values = Samples.durations.prefix(observations)
    let registry = Registry()
    let family = try registry.histogram("duration_seconds", help: "", by: Route.self)
    let before = try Heap.bytesInUse()
    for number in 0..<seriesCount {
      let histogram = family[Route(path: "/route/\(number)", status: 200)]
      for value in values { histogram.record(value) }
    }
    let after = try Heap.bytesInUse()
    return withExtendedLifetime(family) { Double(after - before) / Double(seriesCount) }
  }

  private struct Route: LabelSet {
    let path: String
    let status: Int

    static let labels = [Label<Route>("path", \.path), Label<Route>("status", \.status)]
  }
}

/// The memory that is allocated and not freed, as glibc's `malloc_info(3)` reports it.
enum Heap {
  struct Unknown: Error, CustomStringConvertible {
    var description: String { "this system's malloc does not report what is in use" }
  }

  static func bytesInUse() throws -> Int {
    let report = try mallocInfo()
    // The totals over all arenas come last, with those that are free and those of mmap apart.
    let end = report.range(of: "</heap>", options: .backwards)?.upperBound ?? report.startIndex
    let totals = report[end...]
    guard let system = size(of: "system type=\"current\"", in: totals) else { throw Unknown() }
    let free = ["fast", "rest"].compactMap { size(of: "total type=\"\($0)\"", in: totals) }.reduce(0, +)
    return system - free + (size(of: "total type=\"mmap\"", in: totals) ?? 0)
  }

  /// Looked up at run time: `malloc.h` is not part of Swift's Glibc module.
  private static func mallocInfo() throws -> String {
    #if canImport(Glibc)
      typealias Function = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
      var text: UnsafeMutablePointer<CChar>?
      var length = 0
      guard let symbol = dlsym(nil, "malloc_info"), let file = open_memstream(&text, &length) else {
        throw Unknown()
      }
      let status = unsafeBitCast(symbol, to: Function.self)(0, file)
      fclose(file)
      defer { free(text) }
      guard status == 0, let text else { throw Unknown() }
      return String(cString: text)
    #else
      throw Unknown()
    #endif
  }

  private static func size(of element: String, in report: Substring) -> Int? {
    guard let line = report.split(separator: "\n").last(where: { $0.contains("<" + element) }),
      let start = line.range(of: "size=\"")?.upperBound
    else { return nil }
    return Int(line[start...].prefix { $0 != "\"" })
  }
}
