import Dispatch

/// A dispatch source of a descriptor, which can be paused. Only the event loop uses it.
final class DescriptorSource {
  private let source: any DispatchSourceProtocol
  private var isWatching = true
  private var isCancelled = false

  /// The callback runs on the source's queue.
  init(_ source: any DispatchSourceProtocol, onEvent: @escaping () -> Void) {
    self.source = source
    source.setEventHandler(handler: onEvent)
    source.activate()
  }

  func watch(_ isWanted: Bool) {
    guard isWanted != isWatching, !isCancelled else { return }
    isWatching = isWanted
    if isWanted { source.resume() } else { source.suspend() }
  }

  /// Ends the events for good. Only when the callback runs may the descriptor be closed: as long as a source has it,
  /// its number must not be given to another file.
  func cancel(then completion: @escaping () -> Void) {
    source.setCancelHandler(handler: completion)
    source.cancel()
    // A suspended source must not be released, and calls its cancel handler only once it is resumed, which runs no other
    // handler any more.
    watch(true)
    isCancelled = true
  }
}
