// One import for what nearly each test uses: Foundation with URLSession, libc, locks and atomics, Swift
// Testing, TapCore.
@_exported public import Synchronization
@_exported public import TapCore
@_exported public import TapFoundation
@_exported public import Testing

/// A value with some changes.
package func with<Value>(_ value: Value, _ change: (inout Value) throws -> Void) rethrows -> Value {
  var value = value
  try change(&value)
  return value
}

/// `#expect(actual == expected)`, which takes the compiler a third of the time.
package func expectEqual<Value: Equatable>(
  _ actual: Value, _ expected: Value, _ comment: Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(actual == expected, comment, sourceLocation: sourceLocation)
}
