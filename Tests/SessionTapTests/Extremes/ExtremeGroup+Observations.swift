import Foundation
import SessionTap
import TestSupport

/// Requests of another client, which an app describes itself: given to the metrics and to the log.
extension ExtremeGroup {
  static var observationExtremes: [Extreme] {
    func request<Value: Sendable>(
      _ property: String, _ values: Extremes.Values<Value>,
      _ change: @escaping @Sendable (inout RequestDescription, Value) -> Void
    ) -> [Extreme] {
      observation("RequestDescription.\(property)", values) { change(&$0.request, $1) }
    }
    let sizes = Extremes.integers.map { (name: $0.name, value: Int64($0.value)) }
    return request("client", Extremes.strings) { $0.client = $1 }
      + request("fields", Extremes.fields) { $0.fields = $1 }
      + request("headers", Extremes.texts) { $0.headers = $1 }
      + request("method", Extremes.strings) { $0.method = $1 }
      + request("clientAddress", Extremes.strings) { $0.clientAddress = $1 }
      + request("scheme", Extremes.strings) { $0.scheme = $1 }
      + request("serverAddress", Extremes.strings) { $0.serverAddress = $1 }
      + request("serverPort", Extremes.integers) { $0.serverPort = $1 }
      + request("url", Extremes.strings) { $0.url = $1 }
      + request("urlTemplate", Extremes.strings) { $0.urlTemplate = $1 }
      + observation("RequestObservation.duration", Extremes.durations) { $0.duration = $1 }
      + observation("RequestObservation.timeToFirstByte", Extremes.durations) { observation, duration in
        observation.timeToFirstByte = duration
        for phase in RequestTimings.Phase.allCases { observation.timings[phase] = duration }
      }
      + observation("RequestObservation.requestBodySize", sizes) { $0.requestBodySize = $1 }
      + observation("RequestObservation.responseBodySize", sizes) { $0.responseBodySize = $1 }
      + observation("RequestObservation.resendCount", Extremes.integers) { $0.resendCount = $1 }
      + observation("RequestObservation.openedConnections", Extremes.integers) { $0.openedConnections = $1 }
      + observation("RequestObservation.peerAddress", Extremes.strings) { $0.peerAddress = $1 }
      + observation("RequestObservation.errorMessage", Extremes.strings) { $0.errorMessage = $1 }
      + observation("RequestObservation.responseHeaders", Extremes.texts) { $0.responseHeaders = $1 }
      + observation("RequestEnd.response(statusCode:)", Extremes.integers) {
        $0.end = .response(statusCode: $1)
      }
      + observation("RequestEnd.failure(_:statusCode:)", Extremes.integers) {
        $0.end = .failure(.timeout, statusCode: $1)
      }
      + observation("Timestamp.nanosecondsSinceEpoch", sizes) { $0.start.nanosecondsSinceEpoch = $1 }
      + observation("FieldValue.string(_:)", Extremes.strings) { $0.request.fields = ["key": .string($1)] }
      + observation("FieldValue.double(_:)", Extremes.doubles) { $0.request.fields = ["key": .double($1)] }
      + observation("FieldValue.integer(_:)", sizes) { $0.request.fields = ["key": .integer($1)] }
      + Extreme.eachWhileRunning("RequestLog.requestWaits(_:for:)", Extremes.durations) {
        $0.tap.requestLog?.requestWaits(RequestDescription(client: "waits", method: "GET"), for: $1)
      }
  }

  private static func observation<Value: Sendable>(
    _ setting: String, _ values: Extremes.Values<Value>,
    _ change: @escaping @Sendable (inout RequestObservation, Value) -> Void
  ) -> [Extreme] {
    Extreme.each(setting, values) { trial, value in
      trial.configuration.logOptions.redaction.allowedRequestHeaders = ["key"]
      trial.configuration.logOptions.redaction.allowedResponseHeaders = ["key"]
      trial.whileRunning = { running in
        var observation = RequestObservation(
          request: RequestDescription(client: "other", method: "GET", url: "http://h/"), start: .now,
          duration: .seconds(1), end: .response(statusCode: 200))
        change(&observation, value)
        let registry = Registry()
        let metrics = try RequestDriver(registry: registry)
        metrics.requestStarted(observation.request)
        metrics.requestEnded(observation)
        for direction in RequestDirection.allCases {
          observation.request.direction = direction
          running.tap.requestLog?.requestEnded(observation)
        }
        let exposition = ExpositionText(registry.exposition(in: .text).text)
        if let fault = exposition.faults.first { throw ExtremeFault(description: fault) }
        if exposition["http_client_request_duration_seconds_count"] != 1 {
          throw ExtremeFault(description: "the observation is not recorded")
        }
      }
    }
  }
}

/// What is wrong beside the tap of a trial.
struct ExtremeFault: Error, CustomStringConvertible {
  let description: String
}
