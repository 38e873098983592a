/// `#expect(actual == expected)`, which takes the compiler a third of the time.
package func expectEqual<Value: Equatable>(
  _ actual: Value, _ expected: Value, _ comment: Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(actual == expected, comment, sourceLocation: sourceLocation)
}
