/// The ways in which an app learns of a task's end.
enum Style: String, CaseIterable, Sendable {
  case async, completionHandler, sessionDelegate
  /// An async call with a delegate of its own: the form in which Foundation on Linux asks a task delegate.
  case taskDelegate

  /// Whether a delegate is asked about redirects and challenges.
  var hasDelegate: Bool { self == .sessionDelegate || self == .taskDelegate }
}
