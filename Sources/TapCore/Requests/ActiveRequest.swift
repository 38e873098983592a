/// A request under way, of either direction: made by the app or served by it.
///
/// It ends once, whatever is called how often: the first end counts, and further ones do nothing. Where none comes, because
/// the request was let go with its caller or its task, it ends as cancelled with the last reference to it. Safe to use from any
/// thread; no call waits for anything but a short lock.
public final class ActiveRequest: Sendable {
  /// The place of the request in its trace: for ``TraceContext/current`` while an inbound request is served, and for the
  /// `traceparent` header of an outbound one.
  public let trace: TraceContext

  /// `nil` where the filter left the request out.
  private let record: RequestRecord?

  /// Begins a request.
  init(_ description: consuming RequestDescription, trace: TraceContext, recorder: RequestRecorder) {
    self.trace = trace
    let options = description.direction == .outbound ? recorder.outboundOptions : recorder.inboundOptions
    if description.urlTemplate == nil {
      description.urlTemplate = options.pathTemplates.template(forURL: description.url)
    }
    record =
      options.filter.includes(description) ? RequestRecord(consume description, recorder: recorder) : nil
    record?.begin()
  }

  deinit { record?.end(.cancelled) }

  /// Adds fields to the request's log line, such as the user who is known only after authentication. A field of the same key is
  /// replaced. Does nothing after the end.
  public func add(_ fields: [String: FieldValue]) {
    record?.add(fields)
  }

  /// The response has been sent or received in full.
  ///
  /// - Parameters:
  ///   - statusCode: The status code, whatever it says: 4xx too is an answer, and 5xx an error.
  ///   - route: The template that the framework matched, such as `/users/{id}`: the label `http_route` of an inbound request,
  ///     `url_template` of an outbound one. Never the path.
  ///   - requestBodySize: The bytes of the request's body, or `nil` where they are unknown. Unknown is not 0. A negative size is left
  ///     out, and counted in `session_tap_dropped_values_total`.
  ///   - responseBodySize: The bytes of the response's body, likewise.
  ///   - responseHeaders: The value of a response header, as `headers` of the begin gives those of the request.
  public func end(
    statusCode: Int, route: String? = nil, requestBodySize: Int? = nil, responseBodySize: Int? = nil,
    responseHeaders: (String) -> String? = { _ in nil }
  ) {
    end(.response(statusCode: statusCode), route, requestBodySize, responseBodySize, responseHeaders)
  }

  /// The request came to nothing: there was no whole response. Where an error is answered with a status code,
  /// ``end(statusCode:route:requestBodySize:responseBodySize:responseHeaders:)`` with that code is right instead.
  ///
  /// - Parameters:
  ///   - type: What went wrong: the `error_type` label.
  ///   - message: A description for the log, which is never a label. Its first 256 bytes are written as they are, but for the
  ///     userinfo of URLs: leave out other secrets.
  ///   - statusCode: The status code, if the head of a response had been sent or received.
  ///   - route: The template that the framework matched.
  ///   - requestBodySize: The bytes of the request's body that were transferred.
  ///   - responseBodySize: The bytes of the response's body that were transferred.
  ///   - responseHeaders: The value of a response header, if the head had been sent or received.
  public func fail(
    _ type: RequestErrorType = .other, message: String? = nil, statusCode: Int? = nil, route: String? = nil,
    requestBodySize: Int? = nil, responseBodySize: Int? = nil,
    responseHeaders: (String) -> String? = { _ in nil }
  ) {
    end(
      .failure(type, statusCode: statusCode), route, requestBodySize, responseBodySize, responseHeaders,
      message: message)
  }

  /// The caller went away, or the task that made or served the request was cancelled. This is no error.
  ///
  /// - Parameter route: The template that the framework matched.
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
      // The text of an error may hold what belongs in no log.
      if error is CancellationError || Task.isCancelled {
        cancel()
      } else {
        fail(message: "\(type(of: error))")
      }
      throw error
    }
  }

  private func end(
    _ end: RequestEnd, _ route: String? = nil, _ requestBodySize: Int? = nil, _ responseBodySize: Int? = nil,
    _ responseHeaders: (String) -> String? = { _ in nil }, message: String? = nil
  ) {
    guard let record else { return }
    // The app's code, which runs under no lock.
    let headers = record.recorder.headers.response.values(responseHeaders)
    record.end(end) { observation in
      observation.errorMessage = message
      if let route { observation.request.urlTemplate = route }
      observation.requestBodySize = requestBodySize.map(Int64.init)
      observation.responseBodySize = responseBodySize.map(Int64.init)
      observation.responseHeaders = headers
    }
  }
}
