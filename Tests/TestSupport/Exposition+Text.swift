extension Exposition {
  /// The body as text.
  package var text: String { String(decoding: body, as: UTF8.self) }
}
