import Synchronization
import TapFoundation

/// The process's table from a metrics protocol class to the taps behind it.
///
/// A class is never reused for another tap: a session may refer to it, and the runtime never frees the
/// metadata of a generic class. So a tap that ends leaves only its classes behind. All classes without a tap
/// share a context, and are not searched. The same taps, clients and list of classes get the same class
/// again, and ``URLSessionTap`` bounds its client names.
enum ProtocolClasses {
  private struct Table {
    /// By the number of the class's slot, from 1 on.
    var contexts: [TapContext] = []
    /// The numbers of the classes with a tap.
    var observed: [Int] = []
    /// The contexts of the others: one for each list of loaders.
    var ended: [TapContext] = []

    /// The context that classes without a tap share.
    mutating func shared(_ context: TapContext) -> TapContext {
      if let known = ended.first(where: context.isEquivalent) { return known }
      ended.append(context)
      return context
    }
  }

  private static let table = Mutex(Table())

  /// The class for these taps before these loaders. Omits a tap that has stopped, which may have been
  /// forgotten since the context was made.
  static func metricsClass(for context: TapContext) -> URLProtocol.Type {
    let number = table.withLock { table in
      let context = context.clients.filter(\.tap.isStopped).reduce(context) { $0.without($1.tap) }
      let known = table.observed.first { context.isEquivalent(to: table.contexts[$0 - 1]) }
      if let known { return known }
      table.contexts.append(context.clients.isEmpty ? table.shared(context) : context)
      if !context.clients.isEmpty { table.observed.append(table.contexts.count) }
      return table.contexts.count
    }
    func metricsClass<S: Slot>(over slot: S.Type) -> URLProtocol.Type { MetricsURLProtocol<S>.self }
    return metricsClass(over: slot(number))
  }

  /// Removes a tap that has stopped from the table. Its classes stay valid: sessions that refer to them go on
  /// without it.
  static func forget(_ tap: URLSessionTap) {
    let forgotten = table.withLock { table in
      var forgotten: [TapContext] = []
      let observed = table.observed
      table.observed.removeAll()
      for number in observed {
        let context = table.contexts[number - 1]
        if context.clients.contains(where: { $0.tap === tap }) {
          let others = context.without(tap)
          forgotten.append(context)
          table.contexts[number - 1] = others.clients.isEmpty ? table.shared(others) : others
        }
        if !table.contexts[number - 1].clients.isEmpty { table.observed.append(number) }
      }
      return forgotten
    }
    // Freed outside the lock.
    withExtendedLifetime(forgotten) {}
  }

  /// The context of a metrics protocol class; `nil` for any other class.
  static func context(of someClass: AnyClass) -> TapContext? {
    (someClass as? any MetricsProtocolClass.Type)?.context
  }

  /// The context of the class over a slot.
  static func context<S: Slot>(of slot: S.Type) -> TapContext? {
    table.withLock { $0.contexts.indices.contains(slot.number - 1) ? $0.contexts[slot.number - 1] : nil }
  }

  /// The slot for a number from 1 up. The depth of the type is the number's bit width.
  private static func slot(_ number: Int) -> any Slot.Type {
    func append<High: Slot>(_ digit: Int, to high: High.Type) -> any Slot.Type {
      digit == 0 ? Bit0<High>.self : Bit1<High>.self
    }
    return number == 0 ? Zero.self : append(number & 1, to: slot(number >> 1))
  }
}

/// A class of the table, whatever its slot.
protocol MetricsProtocolClass: URLProtocol {
  static var context: TapContext? { get }
}

/// A number at the type level.
///
/// A configuration carries only a class, and Foundation makes a URLProtocol from nothing else. So each
/// patched configuration gets a class of its own: `MetricsURLProtocol` over another slot, a binary numeral
/// that is built when it is needed.
protocol Slot: SendableMetatype {
  /// The number that it was made for.
  static var number: Int { get }
}

/// The numeral before its first digit.
enum Zero: Slot {
  static var number: Int { 0 }
}

/// `High` followed by the binary digit 0.
enum Bit0<High: Slot>: Slot {
  static var number: Int { High.number << 1 }
}

/// `High` followed by the binary digit 1.
enum Bit1<High: Slot>: Slot {
  static var number: Int { High.number << 1 | 1 }
}
