enum Kind: String, CaseIterable, Sendable {
  case data, uploadData, uploadFile, uploadStream, download

  /// Whether Foundation offers this pair: a streamed upload has no form with a completion.
  func exists(in style: Style) -> Bool { self != .uploadStream || style == .sessionDelegate }

  /// Whether the body was handed over with the task.
  var hasFixedBody: Bool { self == .uploadData || self == .uploadFile }

  var sendsBody: Bool { self != .data && self != .download }
}
