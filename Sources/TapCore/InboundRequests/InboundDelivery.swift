/// Records the requests that an app served and that have ended, a little later and away from the threads that serve.
package protocol InboundDelivery: AnyObject, Sendable {
  /// Notes a request that has ended, for ``InboundRequest/record(_:)``.
  func add(_ request: InboundRequest)
  /// Has all recorded that was noted before. Does nothing when called by an observer.
  func flush()
}
