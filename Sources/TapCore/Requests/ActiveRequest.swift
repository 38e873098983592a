/// A request that the app makes or serves.
///
/// It ends once: the first end counts, and further ones do nothing. A request that is released without an end
/// ends as cancelled. May be used from any thread; calls wait only for a short lock.
public final class ActiveRequest: Sendable {
  /// The place of the request in its trace. Use it as ``TraceContext/current`` while an inbound request is
  /// served, and for the `traceparent` header of an outbound one.
  public let trace: TraceContext

  /// `nil` if the filter excludes the request.
  private let record: RequestRecord?

  init(
    _ description: consuming RequestDescription, trace: TraceContext,
    filter: ((RequestDescription) -> Bool)?, recorder: RequestRecorder
  ) {
    if let filter, !filter(description) {
      (self.trace, record) = (trace, nil)
      return
    }
    let isServed = description.direction == .inbound
    let record = RequestRecord(begun: description, recorder: recorder)
    (self.trace, self.record) = (isServed ? trace.within(record) : trace, record)
  }

  deinit {
    // Most have ended, and need no clock.
    if let record, record.isActive { record.end(.cancelled) }
  }

  /// Adds fields to the request's log line, such as the user after authentication. Replaces fields with the
  /// same key. Does nothing after the end.
  public func add(_ fields: [String: FieldValue]) {
    record?.add(fields)
  }

  /// Reports that the head of the response has been sent or received: from then on an inbound request waits
  /// for its caller and not for the handler, and an outbound one for the rest of the response. The end needs
  /// no such call.
  ///
  /// - Parameters:
  ///   - statusCode: The status code of the response. Interim responses (RFC 9110, section 15.2) are none.
  ///   - route: The template that the framework matched, if it is known by now.
  ///   - protocolVersion: The HTTP version of the connection, if it is known.
  public func responseBegan(
    statusCode: Int, route: String? = nil, protocolVersion: NetworkProtocolVersion? = nil
  ) {
    record?.noteResponse(statusCode: statusCode, route: route, protocolVersion)
  }

  /// Ends the request when its response has been sent or received in full, whether the status code is a
  /// success or not.
  ///
  /// - Parameters:
  ///   - statusCode: The status code.
  ///   - route: The template that the framework matched, such as `/users/{id}`: the label `http_route` of an
  ///     inbound request, `url_template` of an outbound one. Never the path.
  ///   - requestBodySize: The bytes of the request's body, or `nil` if unknown. A negative size is dropped
  ///     and counted.
  ///   - responseBodySize: The bytes of the response's body, likewise.
  ///   - responseHeaders: The value of a response header, as `headers` of the begin gives those of the
  ///     request.
  public func end(
    statusCode: Int, route: String? = nil, requestBodySize: Int? = nil, responseBodySize: Int? = nil,
    responseHeaders: (String) -> String? = { _ in nil }
  ) {
    end(.response(statusCode: statusCode), route, requestBodySize, responseBodySize, responseHeaders)
  }

  /// Ends the request as failed without a complete response. If an error is answered with a status code, call
  /// ``end(statusCode:route:requestBodySize:responseBodySize:responseHeaders:)`` with that code instead.
  ///
  /// - Parameters:
  ///   - type: What went wrong: the `error_type` label.
  ///   - message: A description for the log, never a label: 256 bytes, without the userinfo of URLs.
  ///   - statusCode: The status code, if the head of a response was sent or received.
  ///   - route: The template that the framework matched.
  ///   - requestBodySize: The transferred bytes of the request's body.
  ///   - responseBodySize: The transferred bytes of the response's body.
  ///   - responseHeaders: As for an end.
  public func fail(
    _ type: RequestErrorType = .other, message: String? = nil, statusCode: Int? = nil, route: String? = nil,
    requestBodySize: Int? = nil, responseBodySize: Int? = nil,
    responseHeaders: (String) -> String? = { _ in nil }
  ) {
    end(
      .failure(type, statusCode: statusCode), route, requestBodySize, responseBodySize, responseHeaders,
      add: { $0.errorMessage = message })
  }

  /// Ends the request as cancelled: the caller has left, or the task that makes or serves it was cancelled.
  /// This is no error.
  public func cancel(route: String? = nil) {
    end(.cancelled, route)
  }

  /// Runs an operation within the trace of the request, and ends the request with it.
  func run<Result>(
    isolation: isolated (any Actor)?, _ operation: (ActiveRequest) async throws -> Result
  ) async rethrows -> Result {
    do {
      let result = try await TraceContext.$current.withValue(trace) { try await operation(self) }
      end(.response(statusCode: nil))
      return result
    } catch {
      // The text of an error may contain secrets.
      if error is CancellationError || Task.isCancelled {
        cancel()
      } else {
        let name = String(reflecting: type(of: error))
        end(.failure(.other, statusCode: nil), add: { $0.exceptionType = name })
      }
      throw error
    }
  }

  private func end(
    _ end: RequestEnd, _ route: String? = nil, _ requestBodySize: Int? = nil, _ responseBodySize: Int? = nil,
    _ responseHeaders: (String) -> String? = { _ in nil },
    add: (inout RequestObservation) -> Void = { _ in }
  ) {
    guard let record else { return }
    // The app's code, which runs under no lock.
    let headers = record.recorder.headers.response.values(responseHeaders)
    record.end(end) { observation in
      if let route { observation.request.urlTemplate = route }
      observation.requestBodySize = requestBodySize.map(Int64.init)
      observation.responseBodySize = responseBodySize.map(Int64.init)
      if !headers.isEmpty { observation.responseHeaders = headers }
      add(&observation)
    }
  }
}
