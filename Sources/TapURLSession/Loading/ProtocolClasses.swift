import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The process's table from a metrics protocol class to the taps behind it.
///
/// The table only grows: a session may hold a class for as long as it lives without our knowing, and the
/// runtime never frees the metadata of a generic class. It stays small because the same taps, clients and
/// list of classes get the same class again, because ``URLSessionTap`` bounds its client names, and because a tap
/// that stops leaves an entry without taps.
enum ProtocolClasses {
  private struct Key: Hashable {
    struct Client: Hashable {
      var tap: ObjectIdentifier
      var name: String
    }

    var clients: [Client]
    var next: [ObjectIdentifier]
    var forwarding: ObjectIdentifier?
    var hasOlderTasks: Bool
  }

  private struct State {
    /// By the number of the class's slot, from 1 on.
    var contexts: [TapContext] = []
    var classes: [Key: URLProtocol.Type] = [:]
  }

  private static let state = Mutex(State())

  /// The class that stands for these taps before these loaders. A tap that has stopped is left out: it may have been
  /// forgotten since the context was made.
  static func metricsClass(for context: TapContext) -> URLProtocol.Type {
    state.withLock { state in
      let context = context.clients.filter(\.tap.isStopped).reduce(context) { $0.without($1.tap) }
      // The table keeps the taps and the sessions of its keys alive, so an identifier is never reused.
      let key = Key(
        clients: context.clients.map { Key.Client(tap: ObjectIdentifier($0.tap), name: $0.name) },
        next: context.loaders.identifiers, forwarding: context.forwarding.map { ObjectIdentifier($0) },
        hasOlderTasks: context.hasOlderTasks)
      if let known = state.classes[key] { return known }
      state.contexts.append(context)
      let made = protocolClass(over: slot(UInt(state.contexts.count)))
      state.classes[key] = made
      return made
    }
  }

  /// Takes a tap that has stopped out of the table. Its classes stay valid: sessions that hold them go on, without it.
  static func forget(_ tap: URLSessionTap) {
    let identifier = ObjectIdentifier(tap)
    // Freed outside the lock.
    var forgotten: [TapContext] = []
    state.withLock { state in
      for (index, context) in state.contexts.enumerated()
      where context.clients.contains(where: { $0.tap === tap }) {
        forgotten.append(context)
        state.contexts[index] = context.without(tap)
      }
      state.classes = state.classes.filter { key, _ in !key.clients.contains { $0.tap == identifier } }
    }
  }

  /// What a metrics protocol class stands for, or `nil` if the class is none of ours.
  static func context(of someClass: AnyClass) -> TapContext? {
    (someClass as? any MetricsProtocolClass.Type)?.context
  }

  /// What the class over a slot stands for.
  static func context<S: Slot>(of slot: S.Type) -> TapContext? {
    state.withLock { state in
      let index = slot.number - 1
      return state.contexts.indices.contains(index) ? state.contexts[index] : nil
    }
  }

  private static func protocolClass<S: Slot>(over slot: S.Type) -> URLProtocol.Type {
    MetricsURLProtocol<S>.self
  }
}

/// A class of the table.
protocol MetricsProtocolClass: URLProtocol {
  static var context: TapContext? { get }
}
