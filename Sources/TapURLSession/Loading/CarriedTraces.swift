import Synchronization
package import TapCore
package import TapFoundation

/// Carries the trace of the task that resumes a request from `canInit`, which Foundation calls there, to the
/// loader, which it mostly makes on another thread.
///
/// `canInit` gets a request, and no task. What it has in common with the loader's task is the reference that
/// a `URLRequest` stands on, and all tasks made of one value share it. So a trace is carried as long as all
/// that is pending under a reference comes from one place in one trace, and is absent otherwise. Foundation
/// makes one loader for each `canInit` that takes a request (`URLSessionTask._getProtocol`).
package final class CarriedTraces: Sendable {
  /// What has been asked for and has no loader yet, of one reference.
  private struct Pending {
    /// Keeps the reference: another request at its address is not this one.
    let request: URLRequest
    let parent: TraceContext?
    var count = 0
    /// Not all come from one place.
    var isAmbiguous = false

    mutating func add(_ parent: TraceContext?) {
      count += 1
      if parent != self.parent { isAmbiguous = true }
    }
  }

  private struct Table {
    var pending: [UInt: Pending] = [:]
    /// Loaders are not made as they are asked for, so nothing is carried any more.
    var isGivenUp = false
  }

  package static let shared = CarriedTraces(limit: 16_384)

  private let limit: Int
  private let table = Mutex(Table())

  /// - Parameter limit: The most references that are kept.
  package init(limit: Int) { self.limit = limit }

  /// A loader of the request will be made, for a task that was resumed within this trace, or within none.
  package func add(_ parent: TraceContext?, for request: URLRequest) {
    guard let reference = request.reference else { return }
    let dropped = table.withLock { table -> [UInt: Pending] in
      if table.isGivenUp { return [:] }
      if table.pending.count >= limit, table.pending[reference] == nil {
        return exchange(&table, with: Table(isGivenUp: true)).pending
      }
      table.pending[reference, default: Pending(request: request, parent: parent)].add(parent)
      return [:]
    }
    // They are freed here, outside the lock: a body stream of the app's may be among them.
    guard !dropped.isEmpty else { return }
    StandardError.write(
      line: "session-tap: warning: requests have no trace but their own any more: "
        + "\(dropped.count) times canInit took a request whose loader was not made")
  }

  /// How many references are kept.
  var pendingCount: Int { table.withLock { $0.pending.count } }

  /// The loader of the request is made.
  ///
  /// - Returns: The trace within which its task was resumed, or `nil` if there was none, or it is not known
  ///   which.
  package func take(for request: URLRequest) -> TraceContext? {
    guard let reference = request.reference else { return nil }
    let pending = table.withLock { table -> Pending? in
      guard let index = table.pending.index(forKey: reference) else { return nil }
      table.pending.values[index].count -= 1
      let pending = table.pending.values[index]
      if pending.count == 0 { table.pending.remove(at: index) }
      return pending
    }
    return pending?.isAmbiguous == false ? pending?.parent : nil
  }
}

extension URLRequest {
  /// Where a request has the reference that it stands on. `nil` unless a class is stored there, copies have
  /// the same, and a change takes another.
  private static let handle: Int? = {
    guard let handle = StoredProperty("_handle", of: Self.self), handle.type is AnyClass else { return nil }
    var changed = URLRequest(url: URL(fileURLWithPath: "/"))
    let (one, other) = (changed, changed)
    changed.httpMethod = "HEAD"
    guard let word = one.word(at: handle.offset), word == other.word(at: handle.offset),
      word != changed.word(at: handle.offset)
    else { return nil }
    return handle.offset
  }()

  private func word(at offset: Int) -> UInt? {
    withUnsafeBytes(of: self) { bytes in
      offset >= 0 && offset + MemoryLayout<UInt>.size <= bytes.count
        ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt.self) : nil
    }
  }

  /// The reference that this request stands on, as a number that is compared and never followed.
  fileprivate var reference: UInt? { Self.handle.flatMap(word(at:)) }
}
