enum Interruption: Sendable {
  case none, cancel, suspendAndResume, invalidateAndCancel, finishTasksAndInvalidate, dropSession
}
