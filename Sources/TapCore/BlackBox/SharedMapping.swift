import Synchronization
import TapLibc

/// Memory that is a file's as well, until it is detached.
///
/// A forked child gets memory of its own in its place: it must not write into the parent's file, and would
/// keep its lock.
struct SharedMapping: @unchecked Sendable {
  /// The most in a process.
  static let limit = 8

  let memory: UnsafeMutableRawPointer
  private let size: Int
  private let place: Place

  /// What a forked child replaces: read by code that may wait for no lock.
  private final class Place: Sendable {
    let isTaken = Atomic(false)
    let address = Atomic<UInt>(0)
    let descriptor = Atomic<Int32>(-1)
  }

  private static let places = (0..<limit).map { _ in Place() }

  private static let registration: Void = {
    _ = places
    pthread_atfork(nil, nil) { SharedMapping.leaveParent() }
  }()

  private static func leaveParent() {
    for place in places {
      guard let memory = UnsafeMutableRawPointer(bitPattern: place.address.load(ordering: .acquiring)) else {
        continue
      }
      _ = System.mapAnonymous(at: memory, BlackBoxHeader.fileSize)
      System.close(place.descriptor.load(ordering: .relaxed))
      place.address.store(0, ordering: .relaxed)
      place.isTaken.store(false, ordering: .relaxed)
    }
  }

  /// Maps a file whose space is reserved first.
  ///
  /// - Parameter lock: The descriptor that a forked child closes.
  init(_ descriptor: Int32, size: Int, lock: Int32) throws(BlackBoxError) {
    _ = Self.registration
    guard let place = Self.places.first(where: { !$0.isTaken.exchange(true, ordering: .acquiring) }) else {
      throw .tooMany
    }
    do throws(System.Failure) {
      try System.reserve(size, of: descriptor)
      memory = try System.mapShared(descriptor, size)
    } catch {
      place.isTaken.store(false, ordering: .releasing)
      throw error.code == ENOSPC ? .isFull : .cannotOpen(error)
    }
    (self.size, self.place) = (size, place)
    place.descriptor.store(lock, ordering: .relaxed)
    place.address.store(UInt(bitPattern: memory), ordering: .releasing)
  }

  /// Puts other memory in its place, so that no store reaches the file any more. `false` if the system has
  /// none.
  func detach() -> Bool {
    guard place.address.load(ordering: .relaxed) != 0 else { return true }
    guard System.mapAnonymous(at: memory, size) else { return false }
    place.address.store(0, ordering: .releasing)
    place.isTaken.store(false, ordering: .releasing)
    return true
  }

  /// Unmaps the memory, which must not be used afterwards.
  func free() { munmap(memory, size) }

  func word(at place: Int) -> UnsafeMutablePointer<Atomic<Int64>> {
    (memory + place).assumingMemoryBound(to: Atomic<Int64>.self)
  }

  /// Clears it, and then writes its first bytes.
  func begin(with bytes: [UInt8]) {
    memset(memory, 0, size)
    UnsafeMutableRawBufferPointer(start: memory, count: size).copyBytes(from: bytes)
  }
}
