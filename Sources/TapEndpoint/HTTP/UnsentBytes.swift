/// The bytes of a response that are not sent yet.
package struct UnsentBytes: Sendable {
  /// The most bytes of a body that are copied behind the head, so that both leave in one call, and so in one segment if they
  /// fit. The rest stays in the array in which the handler made it, which connections may share.
  private static let gatheringLimit = 16_384

  private var first: ArraySlice<UInt8> = []
  private var rest: ArraySlice<UInt8> = []

  package init() {}

  package init(head: [UInt8], body: [UInt8]) {
    first = (head + body.prefix(Self.gatheringLimit))[...]
    rest = body.dropFirst(Self.gatheringLimit)
  }

  package var isEmpty: Bool { first.isEmpty && rest.isEmpty }

  /// What one call can send.
  package func withNext<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    (first.isEmpty ? rest : first).withUnsafeBytes(body)
  }

  /// Removes bytes that have been sent.
  package mutating func removeFirst(_ count: Int) {
    let ofFirst = min(count, first.count)
    first = first.dropFirst(ofFirst)
    rest = rest.dropFirst(count - ofFirst)
    // Each gives its memory back.
    if first.isEmpty { first = [] }
    if rest.isEmpty { rest = [] }
  }
}
