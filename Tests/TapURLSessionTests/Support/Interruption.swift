/// What a test does to a request on its way.
enum Interruption: Sendable {
  case none, cancel, suspendAndResume, invalidateAndCancel, finishTasksAndInvalidate, dropSession
}
