extension ContentCoding {
  /// The best coding for the value of an `Accept-Encoding` header.
  init(acceptEncoding: String?) {
    self = .identity
  }
}
