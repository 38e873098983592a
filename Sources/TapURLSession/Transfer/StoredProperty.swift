@_spi(Reflection) import Swift
import TapFoundation

/// Where a stored property is in an object, found by its name and its type.
struct StoredProperty {
  let offset: Int
  let type: any Any.Type

  /// - Parameters:
  ///   - owner: A class, or a structure that is stored in one.
  ///   - start: The offset of that structure.
  ///   - typeName: The name that its type must have, or `nil` if the caller checks the type.
  init?(_ name: String, of owner: any Any.Type, at start: Int = 0, type typeName: String? = nil) {
    // `_EachFieldOptions.classType`, which is a `var`.
    let options = owner is AnyClass ? _EachFieldOptions(rawValue: 1) : []
    var found: (offset: Int, type: any Any.Type)?
    _ = _forEachField(of: owner, options: options) { field, offset, type, _ in
      guard String(cString: field) == name else { return true }
      found = (offset, type)
      return false
    }
    guard let found, typeName == nil || _typeName(found.type, qualified: true) == typeName else { return nil }
    (offset, type) = (start + found.offset, found.type)
  }

  /// The class of an optional reference.
  var wrappedClass: AnyClass? { (type as? any OptionalType.Type)?.wrapped as? AnyClass }

  /// The value of a property by reflection: slow, but right for a weak or an indirect one too.
  static func value(_ name: String, of owner: Any) -> Any? {
    var mirror: Mirror? = Mirror(reflecting: owner)
    while let current = mirror {
      if let child = current.children.first(where: { $0.label == name }) { return unwrapped(child.value) }
      mirror = current.superclassMirror
    }
    return nil
  }

  private static func unwrapped(_ value: Any) -> Any? {
    guard let optional = value as? any OptionalType else { return value }
    return optional.value.flatMap(unwrapped)
  }
}

/// Reads what an object has at an offset. `withExtendedLifetime` comes down to `_fixLifetime`, but its
/// generic call costs more than the load.
@inline(__always)
func load<Value>(_ offset: Int, of object: AnyObject, as type: Value.Type) -> Value {
  defer { _fixLifetime(object) }
  let start = UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
  return start.load(fromByteOffset: offset, as: type)
}

private protocol OptionalType {
  static var wrapped: any Any.Type { get }
  var value: Any? { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: any Any.Type { Wrapped.self }
  fileprivate var value: Any? { self }
}

/// What Foundation on Linux keeps of a request beside its properties.
extension URLRequest {
  /// The offset of the flag that `timeoutInterval` was set. `nil` unless that byte changes from 0 to 1 then.
  private static let timeoutOffset: Int? = {
    let flag = StoredProperty("isTimeoutIntervalSet", of: Self.self, type: "Swift.Bool")
    guard let offset = flag?.offset else { return nil }
    let plain = URLRequest(url: URL(fileURLWithPath: "/"))
    var changed = plain
    changed.timeoutInterval = 1
    return plain.byte(at: offset) == 0 && changed.byte(at: offset) == 1 ? offset : nil
  }()

  /// Whether the property `timeoutInterval` was set: Foundation ignores the time-out that an initialiser
  /// takes (`configureEasyHandle(for:body:)` in HTTPURLProtocol.swift). `nil` if that is unknown.
  var isTimeoutSet: Bool? { Self.timeoutOffset.flatMap { byte(at: $0) }.map { $0 != 0 } }

  private func byte(at offset: Int) -> UInt8? {
    withUnsafeBytes(of: self) { $0.indices.contains(offset) ? $0[offset] : nil }
  }
}
