import TestSupport

@testable import TapURLSession

extension URLSessionTap {
  /// A tap of its own recorder.
  convenience init(
    observers: [any RequestConsumer], options: RequestConfiguration = RequestConfiguration(),
    configuration: Configuration = Configuration()
  ) {
    self.init(recorder: Self.recorder(observers, options), configuration: configuration)
  }

  private static func recorder(
    _ consumers: [any RequestConsumer], _ options: RequestConfiguration
  ) -> RequestRecorder {
    // The registry is new and the metrics are the default ones: the first is made.
    while true {
      let recorder = try? RequestRecorder(registry: Registry(), outbound: options, consumers: consumers)
      if let recorder { return recorder }
    }
  }

  func flush() { recorder.drain() }

  var requestCount: Int { recorder.requestCount }
}
