import TapLibc

/// Wakes threads that wait for a condition which another lock guards.
///
/// The waiter reads ``ticket`` first, looks at its condition next, and waits for a later event last: an event
/// between the look and the wait is not lost. `Synchronization` has a mutex and no condition variable;
/// this is the one place that uses those of POSIX.
package final class EventCount: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  /// Guarded by `mutex`.
  private var events: UInt64 = 0

  package init() {
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  var ticket: UInt64 {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return events
  }

  package func signal() {
    pthread_mutex_lock(mutex)
    events &+= 1
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits for an event after `ticket`. Gives `false` if the deadline came first.
  func wait(past ticket: UInt64, until deadline: Instant) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while events == ticket {
      if deadline == .never {
        pthread_cond_wait(condition, mutex)
        continue
      }
      #if canImport(Darwin)
        let now = Instant.now
        guard now < deadline else { return false }
        var left = Self.time(deadline.nanoseconds - now.nanoseconds)
        pthread_cond_timedwait_relative_np(condition, mutex, &left)
      #else
        var time = Self.time(deadline.nanoseconds)
        if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return events != ticket }
      #endif
    }
    return true
  }

  /// Waits until the condition returns a value. It is evaluated at once, after each event, and at the
  /// deadline.
  package func wait<Value>(until deadline: Instant, for condition: () -> Value?) -> Value? {
    while true {
      let ticket = ticket
      if let value = condition() { return value }
      if !wait(past: ticket, until: deadline) { return condition() }
    }
  }

  private static func time(_ nanoseconds: Int64) -> timespec {
    timespec(tv_sec: .init(nanoseconds / 1_000_000_000), tv_nsec: .init(nanoseconds % 1_000_000_000))
  }
}
