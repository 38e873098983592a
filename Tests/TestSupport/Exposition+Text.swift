package import TapCore

extension Exposition {
  /// The bytes as text.
  package var text: String { String(decoding: bytes, as: UTF8.self) }
}
