import TestSupport

@testable import TapCore

/// Registries that have seen many hosts and routes, among them some of a megabyte, ill-formed ones
/// and every control character.
enum AttackedRegistry {
  /// For judges that are slow beside a debug build. It is made once for all of them.
  static let small = Result { try make(limit: smallLimit) }
  static let smallLimit = Extent.of(100, extensive: 200)

  static let hostCount = Extent.of(5_000, extensive: 100_000)
  static let routeCount = hostCount / 5

  static func make(limit: Int) throws -> Registry {
    let registry = Registry()
    let metrics = try RequestDriver(registry: registry) { $0.series.limit = limit }
    for number in 0..<hostCount {
      let request = RequestDescription(
        client: "c", method: number % 1_000 == 7 ? megabyte : "GET", serverAddress: host(number),
        urlTemplate: number % 5_000 == 0 ? megabyte : nil)
      metrics.record(request, .response(statusCode: number)) {
        ($0.duration, $0.responseBodySize) = (.nanoseconds(number), Int64(number))
      }
    }
    for number in 0..<routeCount {
      let route = "/" + host(number)
      let request = metrics.recorder.inbound.begin(
        method: number % 100 == 7 ? megabyte : "GET", path: route, scheme: number % 3 == 0 ? route : "http",
        traceparent: route)
      request.end(
        statusCode: number - 10_000, route: route, requestBodySize: number % 2 == 0 ? .min : .max,
        responseBodySize: number)
    }
    metrics.recorder.drain()
    return registry
  }

  private static let megabyte = String(repeating: "x", count: 1 << 20)

  private static func host(_ number: Int) -> String {
    switch number % 50 {
    case 0: return number % 1_000 == 0 ? megabyte + "\(number)" : "h\(number)\"\\\n"
    case 1:
      return "\(number)" + String(decoding: [0xff, UInt8(number / 400), 0xc0, 0xed, 0xa0], as: UTF8.self)
    case 2: return "\(number)" + (UnicodeScalar(number / 50).map(String.init) ?? "")
    default: return "host-\(number)"
    }
  }
}
