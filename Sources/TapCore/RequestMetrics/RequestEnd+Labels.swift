extension RequestEnd {
  /// What is no status code (RFC 9110, section 15) would only make series.
  @inline(__always)
  var validStatusCode: Int? {
    guard let statusCode, (100...599).contains(statusCode) else { return nil }
    return statusCode
  }

  /// Why the request failed, if it did.
  @inline(__always)
  var failure: RequestErrorType? {
    if case .failure(let type, _) = self { type } else { nil }
  }
}
