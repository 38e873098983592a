import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The process's table from a metrics protocol class to the tap behind it.
///
/// The table only grows: a session may hold a class for as long as it lives without our knowing, and the
/// runtime never frees the metadata of a generic class. It stays small because the same tap, client and
/// list of classes get the same class again, and because ``URLSessionTap`` bounds its client names.
enum ProtocolClasses {
  private struct Key: Hashable {
    var tap: ObjectIdentifier
    var client: String
    var next: [ObjectIdentifier]
    var forwarding: ObjectIdentifier?
  }

  private struct State {
    /// By the number of the class's slot, from 1 on.
    var contexts: [TapContext] = []
    var classes: [Key: URLProtocol.Type] = [:]
  }

  private static let state = Mutex(State())

  /// The class for this tap, client and list of classes behind it.
  static func metricsClass(
    tap: URLSessionTap, client: String, next: [URLProtocol.Type], forwarding: ForwardingSession? = nil
  ) -> URLProtocol.Type {
    // The table keeps every tap that has a class alive, so an identifier is never reused.
    let key = Key(
      tap: ObjectIdentifier(tap), client: client, next: next.map { ObjectIdentifier($0) },
      forwarding: forwarding.map { ObjectIdentifier($0) })
    return state.withLock { state in
      if let known = state.classes[key] { return known }
      state.contexts.append(
        TapContext(tap: tap, client: client, loaders: LoaderChain(next), forwarding: forwarding))
      let made = protocolClass(over: slot(UInt(state.contexts.count)))
      state.classes[key] = made
      return made
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
