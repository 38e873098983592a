extension ContentCoding {
  /// The best coding for the value of an `Accept-Encoding` header (RFC 9110, section 12.5.3).
  init(acceptEncoding: String?) {
    self = .identity
    guard let acceptEncoding else { return }
    let codings = QualityList(acceptEncoding).items
    func quality(_ names: [String]) -> Double? {
      codings.first { names.contains($0.value) }?.quality
    }
    // "x-gzip" is the same (section 8.4.1.3), and "*" is whatever is not named.
    let gzip = quality(["gzip", "x-gzip"]) ?? quality(["*"]) ?? 0
    // Without its name, identity is acceptable but not asked for.
    if gzip > 0, gzip >= quality(["identity"]) ?? 0 { self = .gzip }
  }
}
