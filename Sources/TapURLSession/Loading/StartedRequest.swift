import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the first start of a request fixes for its end. An object, since it is handed around.
final class StartedRequest: Sendable {
  /// Who hears of the start and of the end, whoever observes the tap by then.
  let observers: [any RequestObserver]
  let timestamp = Timestamp.now
  let instant = ContinuousClock.now

  private let request: URLRequest
  private let context: TapContext
  private let taskContext: RequestContext?
  private let known = Mutex<RequestDescription?>(nil)

  init(
    _ request: URLRequest, context: TapContext, taskContext: RequestContext?,
    observers: [any RequestObserver]
  ) {
    self.request = request
    self.context = context
    self.taskContext = taskContext
    self.observers = observers
  }

  /// What observers are told of the request. Made when they are told, away from the path of the request.
  var description: RequestDescription {
    known.withLock { known in
      if let known { return known }
      let made = RequestDescription(
        request, client: context.client, templates: context.tap.configuration.pathTemplates,
        taskContext: taskContext)
      known = made
      return made
    }
  }

  /// What observers are told of the end.
  func observation(_ end: RequestEnd, _ ending: TransferEnding?, at instant: ContinuousClock.Instant)
    -> RequestObservation
  {
    RequestObservation(
      request: description, start: timestamp, duration: self.instant.duration(to: instant), end: end,
      requestBodySize: ending?.requestBodySize, responseBodySize: ending?.responseBodySize,
      timeToFirstByte: ending?.firstByte.map { self.instant.duration(to: $0) },
      resendCount: ending?.resendCount, isFromCache: ending?.isFromCache ?? false)
  }
}
