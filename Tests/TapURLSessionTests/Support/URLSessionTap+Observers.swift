import TestSupport

@testable import TapURLSession

extension URLSessionTap {
  /// A tap, and what it reports.
  static func observed(
    options: RequestConfiguration = .init(), configuration: Configuration = .init()
  ) -> (URLSessionTap, RecordingObserver) {
    let observer = RecordingObserver()
    return (URLSessionTap(observers: [observer], options: options, configuration: configuration), observer)
  }

  /// A tap of its own recorder.
  convenience init(
    observers: [any RequestConsumer] = [], options: RequestConfiguration = .init(),
    configuration: Configuration = .init()
  ) {
    self.init(recorder: Self.recorder(observers, options), configuration: configuration)
  }

  static func recorder(_ all: [any RequestConsumer], _ options: RequestConfiguration) -> RequestRecorder {
    do {
      return try RequestRecorder(registry: Registry(), outbound: options, consumers: all)
    } catch {
      fatalError("a new registry refuses the metrics of requests: \(error)")
    }
  }

  /// A session that the tap observes.
  func session(
    client: String = "test", _ base: URLSessionConfiguration = .ephemeral,
    delegate: (any URLSessionDelegate)? = nil
  ) -> URLSession {
    URLSession(
      configuration: sessionConfiguration(from: base, client: client), delegate: delegate, delegateQueue: nil)
  }

  func flush() { recorder.drain() }
}

extension TapContext {
  /// The context of a class that these taps share.
  static func of(_ taps: [URLSessionTap], name: String = "test") -> TapContext {
    TapContext(clients: taps.map { Client(tap: $0, name: name) }, loaders: [])
  }
}

/// The ways to a session that a tap observes.
enum TappedSession: String, CaseIterable, Sendable {
  case fromConfiguration = "patched configuration"
  /// The tap is installed on one that exists.
  case installed = "installed session"

  func make(_ tap: URLSessionTap, client: String = "test") -> AppCall.SessionMaker {
    switch self {
    case .fromConfiguration:
      { configuration, delegate, queue in
        URLSession(
          configuration: tap.sessionConfiguration(from: configuration, client: client), delegate: delegate,
          delegateQueue: queue)
      }
    case .installed:
      { configuration, delegate, queue in
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        tap.install(on: session, client: client)
        return session
      }
    }
  }
}
