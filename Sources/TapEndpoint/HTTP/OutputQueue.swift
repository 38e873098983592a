/// The bytes that a connection still has to send. Large bodies stay in the array in which their handler made
/// them; small parts are gathered, so that a head and its body leave in one call.
package struct OutputQueue: Sendable {
  /// The most bytes that are copied behind others instead of kept apart.
  private static let gatheringLimit = 16_384

  private var parts: [[UInt8]] = []
  /// How much of the first part has been sent.
  private var offset = 0
  /// The bytes that are not sent yet.
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package mutating func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    count += bytes.count
    if let last = parts.indices.last, parts[last].count + bytes.count <= Self.gatheringLimit {
      parts[last].append(contentsOf: bytes)
    } else {
      parts.append(bytes)
    }
  }

  /// The first two parts, of which the second may be empty: what one call can send, which for a head and its
  /// body is all of it.
  package func withFirstParts<Result>(
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let second = parts.count > 1 ? parts[1] : []
    return (parts.first ?? []).withUnsafeBytes { first in
      second.withUnsafeBytes { second in
        body(UnsafeRawBufferPointer(rebasing: first[min(offset, first.count)...]), second)
      }
    }
  }

  /// Removes bytes that have been sent.
  package mutating func removeFirst(_ sent: Int) {
    var sent = min(sent, count)
    count -= sent
    var finished = 0
    while finished < parts.count, sent >= parts[finished].count - offset {
      sent -= parts[finished].count - offset
      offset = 0
      finished += 1
    }
    offset += sent
    parts.removeFirst(finished)
    if parts.isEmpty { parts = [] }
  }

  package mutating func removeAll() {
    self = OutputQueue()
  }
}
