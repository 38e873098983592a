import Synchronization

/// Resumes a continuation with the first value that arrives, from whatever thread, even if it arrives before
/// somebody waits. Later values are dropped.
final class FirstValue<Value: Sendable>: Sendable {
  private enum State {
    case nothing
    case waiting(CheckedContinuation<Value?, Never>)
    case value(Value?)
    case done
  }

  private let state = Mutex(State.nothing)

  /// Waits. To be called once.
  func wait(_ continuation: CheckedContinuation<Value?, Never>) {
    let value: Value?? = state.withLock { state in
      if case .value(let value) = state {
        state = .done
        return .some(value)
      }
      state = .waiting(continuation)
      return .none
    }
    if let value { continuation.resume(returning: value) }
  }

  /// `nil` gives up.
  func resume(_ value: Value?) {
    let continuation: CheckedContinuation<Value?, Never>? = state.withLock { state in
      switch state {
      case .nothing:
        state = .value(value)
        return nil
      case .waiting(let continuation):
        state = .done
        return continuation
      case .value, .done:
        return nil
      }
    }
    continuation?.resume(returning: value)
  }
}
