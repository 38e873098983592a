import TapFoundation

/// Where Foundation keeps what the tap reads of its private properties.
///
/// A native loader (`_HTTPURLProtocol`) stores `easyHandle`, an `_EasyHandle`, which stores `rawHandle`,
/// libcurl's `CURL *`. The offsets of these properties, and of some of a task and a session, come from the
/// metadata that the compiler writes for reflection. Their names and types are checked; where one differs,
/// there is no layout.
///
/// Everything is read on the queue on which Foundation changes it. What a URLRequest keeps is found beside
/// ``StoredProperty``.
struct FoundationLayout: Sendable {
  private let easyHandle: Int
  private let rawHandle: Int
  private let redirectCount: Int
  private let session: Int
  private let workQueue: Int?
  private let connectionLimit: Int?
  private let nextTask: Int?
  private let sockets: (multiHandle: Int, table: Int, type: any DescriptorTable.Type)?

  /// - Parameter module: Where the types are: a test has others.
  init?(
    loader: AnyClass, task: AnyClass = URLSessionTask.self, session: AnyClass = URLSession.self,
    module: String = "FoundationNetworking"
  ) {
    guard
      let easyHandle = StoredProperty(
        "easyHandle", of: loader, type: "Swift.Optional<\(module)._EasyHandle>"),
      let handleClass = easyHandle.wrappedClass,
      let rawHandle = StoredProperty("rawHandle", of: handleClass, type: "Swift.UnsafeMutableRawPointer"),
      let redirectCount = StoredProperty("redirectCount", of: loader, type: "Swift.Int"),
      let ofTask = StoredProperty("session", of: task, type: "Swift.Optional<\(module).URLSessionProtocol>")
    else { return nil }
    (self.easyHandle, self.rawHandle) = (easyHandle.offset, rawHandle.offset)
    (self.redirectCount, self.session) = (redirectCount.offset, ofTask.offset)
    // Without the rest, less is known of waits, connections and active requests.
    workQueue = StoredProperty("workQueue", of: task, type: "Dispatch.DispatchQueue")?.offset
    let configuration = StoredProperty(
      "_configuration", of: session, type: "\(module).URLSession._Configuration")
    connectionLimit = configuration.flatMap {
      StoredProperty("httpMaximumConnectionsPerHost", of: $0.type, at: $0.offset, type: "Swift.Int")?.offset
    }
    nextTask = StoredProperty("nextTaskIdentifier", of: session, type: "Swift.Int")?.offset
    let multiHandle = StoredProperty("multiHandle", of: session, type: "\(module).URLSession._MultiHandle")
    let table = multiHandle.flatMap { StoredProperty("socketReferences", of: $0.type) }
    sockets =
      if let multiHandle, let table, let type = table.type as? any DescriptorTable.Type {
        (multiHandle.offset, table.offset, type)
      } else {
        nil
      }
  }

  /// Whether the stored words are what they are taken for. They are compared as numbers with what reflection
  /// finds, before any is followed: a property that has become weak has the same name and type.
  ///
  /// Checked once in a process, at the first request, before anything is read. A session made for this check
  /// earlier would register Foundation's loaders before classes that the app registers later.
  func holds(for loader: AnyObject, of task: AnyObject) -> Bool {
    func word(_ offset: Int, of object: AnyObject) -> UInt { load(offset, of: object, as: UInt.self) }
    func isObject(_ value: Any?, at offset: Int, of object: AnyObject) -> Bool {
      value.map { word(offset, of: object) == UInt(bitPattern: ObjectIdentifier($0 as AnyObject)) } ?? false
    }
    func isNumber(_ value: Any?, at offset: Int?, of object: AnyObject) -> Bool {
      guard let offset else { return true }
      return (value as? Int).map { word(offset, of: object) == UInt(bitPattern: $0) } ?? false
    }
    guard let handle = StoredProperty.value("easyHandle", of: loader),
      isObject(handle, at: easyHandle, of: loader),
      let raw = StoredProperty.value("rawHandle", of: handle) as? UnsafeMutableRawPointer,
      word(rawHandle, of: handle as AnyObject) == UInt(bitPattern: raw),
      isNumber(StoredProperty.value("redirectCount", of: loader), at: redirectCount, of: loader),
      let found = StoredProperty.value("session", of: task), isObject(found, at: session, of: task)
    else { return false }
    let queue = StoredProperty.value("workQueue", of: task)
    guard workQueue.map({ isObject(queue, at: $0, of: task) }) != false else { return false }
    let owner = found as AnyObject
    let limit = StoredProperty.value("_configuration", of: owner).flatMap {
      StoredProperty.value("httpMaximumConnectionsPerHost", of: $0)
    }
    guard isNumber(limit, at: connectionLimit, of: owner),
      isNumber(StoredProperty.value("nextTaskIdentifier", of: owner), at: nextTask, of: owner)
    else { return false }
    guard let sockets else { return true }
    guard let handles = StoredProperty.value("multiHandle", of: owner),
      isObject(handles, at: sockets.multiHandle, of: owner),
      let table = StoredProperty.value("socketReferences", of: handles) as? any DescriptorTable
    else { return false }
    return word(sockets.table, of: handles as AnyObject) == table.word
  }

  @inline(__always)
  func handle(of loader: URLProtocol) -> UnsafeMutableRawPointer? {
    load(easyHandle, of: loader, as: UnsafeRawPointer?.self)?
      .load(fromByteOffset: rawHandle, as: UnsafeMutableRawPointer?.self)
  }

  /// How many redirects a loader has followed, or was to follow.
  func redirectCount(of loader: URLProtocol) -> Int { load(redirectCount, of: loader, as: Int.self) }

  /// The session of a task. The property is an existential of a class protocol: the object, then the witness
  /// table.
  func session(of task: URLSessionTask) -> URLSession? {
    load(session, of: task, as: AnyObject?.self) as? URLSession
  }

  /// On which its loader runs.
  func queue(of task: URLSessionTask) -> DispatchQueue? {
    // Its type was checked.
    workQueue.map { load($0, of: task, as: DispatchQueue.self) }
  }

  /// Whether a loader that has not ended has asked the app whether to follow a redirect, and has no answer.
  ///
  /// When the time-out of the request comes meanwhile, Foundation sets `taskCompleted` and tells nobody
  /// (`timeoutHandler` in `HTTPURLProtocol.swift`): neither the task nor the question ends. Reflection is
  /// slow, and right for any case of an enum.
  func hasAskedForRedirect(_ loader: URLProtocol) -> Bool {
    guard let state = StoredProperty.value("internalState", of: loader) else { return false }
    let name = Mirror(reflecting: state).children.first?.label ?? "\(state)"
    return ["waitingForRedirectCompletionHandler", "taskCompleted"].contains(name)
  }

  /// How many connections to a host the session of a task opens at most, or `nil` if that is unknown.
  ///
  /// The session gave this number to libcurl when it was made. `session.configuration` says what the app has
  /// set since.
  func connectionLimit(of task: URLSessionTask) -> Int? {
    guard let connectionLimit, let session = session(of: task) else { return nil }
    return load(connectionLimit, of: session, as: Int.self)
  }

  /// Whether a session has made a task. Not while another thread makes one.
  func isUsed(_ session: URLSession) -> Bool {
    guard let nextTask else { return true }
    return load(nextTask, of: session, as: Int.self) > 1
  }

  /// The first descriptor that fits among the sockets that Foundation has of a task's session.
  func socket(of task: URLSessionTask, where fits: (Int32) -> Bool) -> Int32? {
    guard let sockets, let session = session(of: task) else { return nil }
    let multiHandle = load(sockets.multiHandle, of: session, as: AnyObject.self)
    defer { _fixLifetime(multiHandle) }
    let table = UnsafeRawPointer(Unmanaged.passUnretained(multiHandle).toOpaque()) + sockets.table
    return sockets.type.first(in: table, where: fits)
  }
}

/// A dictionary by descriptor, whatever its values are: their type is private.
private protocol DescriptorTable: SendableMetatype {
  /// The first descriptor that fits in the table that is stored there.
  static func first(in table: UnsafeRawPointer, where fits: (Int32) -> Bool) -> Int32?
  /// The one word that it is.
  var word: UInt { get }
}

extension Dictionary: DescriptorTable where Key == Int32 {
  fileprivate static func first(in table: UnsafeRawPointer, where fits: (Int32) -> Bool) -> Int32? {
    table.load(as: Self.self).keys.first(where: fits)
  }

  fileprivate var word: UInt { unsafeBitCast(self, to: UInt.self) }
}
