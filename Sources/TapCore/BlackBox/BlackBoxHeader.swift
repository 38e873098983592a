/// The first page of a black box: whose it is, and what is true of all its slots. Numbers at fixed places;
/// everything behind them is zero.
struct BlackBoxHeader {
  static let size = 4_096
  static let slotCount = 4_096
  /// Of the whole file.
  static let fileSize = size + slotCount * BlackBoxSlot.size
  static let version: UInt32 = 1

  static let magic: [UInt8] = Array("tapboxes".utf8)
  private static let nameLimit = 128

  /// Where the numbers are.
  enum Place {
    static let magic = 0
    static let version = 8
    static let slotSize = 12
    static let slotCount = 16
    static let processID = 20
    static let opened = 24
    /// 1 while the process has not ended in order.
    static let isOpen = 32
    /// The last sign of life on the monotonic clock, and how far the wall clock was ahead of that.
    static let lastSign = 40
    static let wallClockLead = 48
    /// Active requests that found no slot.
    static let missing = 56
    /// How many of its requests a later process has told.
    static let told = 64
    static let nameLength = 72
    static let name = 80
  }

  let processID: Int32
  /// When the process opened the file.
  let opened: Timestamp
  let isOpen: Bool
  let lastSign: Instant
  let wallClockLead: Int64
  let missingCount: Int64
  let toldCount: Int64
  let serviceName: String

  /// Reads the bytes of a file. `nil` of one that no process has used yet.
  init?(_ bytes: [UInt8]) throws(BlackBoxError) {
    // Made, and not more.
    if bytes.isEmpty { return nil }
    guard bytes.count >= Self.size else { throw .isShort }
    func number<Number: BitwiseCopyable>(_ place: Int, _ type: Number.Type) -> Number {
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: type) }
    }
    let magic = bytes[..<Self.magic.count]
    if magic.allSatisfy({ $0 == 0 }) { return nil }
    guard magic.elementsEqual(Self.magic) else { throw .isOther }
    guard number(Place.version, UInt32.self) == Self.version,
      number(Place.slotSize, Int32.self) == BlackBoxSlot.size,
      number(Place.slotCount, Int32.self) == Self.slotCount
    else { throw .isOfOtherVersion }
    processID = number(Place.processID, Int32.self)
    opened = Timestamp(nanosecondsSinceEpoch: number(Place.opened, Int64.self))
    isOpen = number(Place.isOpen, Int64.self) == 1
    lastSign = Instant(nanoseconds: number(Place.lastSign, Int64.self))
    wallClockLead = number(Place.wallClockLead, Int64.self)
    missingCount = max(0, number(Place.missing, Int64.self))
    toldCount = max(0, number(Place.told, Int64.self))
    let length = min(Int(number(Place.nameLength, UInt16.self)), Self.nameLimit)
    serviceName = String(decoding: bytes[Place.name..<(Place.name + length)], as: UTF8.self)
  }

  /// The bytes of the page when a process opens the file now, but for ``Place/isOpen``.
  static func page(processID: Int32, serviceName: String) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    func put(_ value: [UInt8], _ place: Int) {
      bytes.replaceSubrange(place..<(place + value.count), with: value)
    }
    func put(_ number: some BitwiseCopyable, at place: Int) {
      put(withUnsafeBytes(of: number) { Array($0) }, place)
    }
    let (time, now) = (Timestamp.now.nanosecondsSinceEpoch, Instant.now.nanoseconds)
    let name = Array(serviceName.prefix(utf8Length: nameLimit).utf8)
    put(magic, Place.magic)
    put(version, at: Place.version)
    put(Int32(BlackBoxSlot.size), at: Place.slotSize)
    put(Int32(slotCount), at: Place.slotCount)
    put(processID, at: Place.processID)
    put(time, at: Place.opened)
    put(now, at: Place.lastSign)
    put(time &- now, at: Place.wallClockLead)
    put(UInt16(name.count), at: Place.nameLength)
    put(name, Place.name)
    return bytes
  }
}

/// Why a file cannot be used as a black box.
package enum BlackBoxError: Error, Equatable, CustomStringConvertible {
  case isShort
  case isOther
  case isOfOtherVersion
  case isInUse(processID: Int32?)
  /// A symbolic link, a folder, a pipe.
  case isNoFile
  case isOfAnotherUser
  /// Others may write to it, or it has a second name.
  case isShared
  case isOnDisk
  case isFull
  case tooMany
  case isUnstable
  case cannotOpen(System.Failure)

  package var description: String {
    switch self {
    case .isShort: "it is no black box (it is too short): check the path"
    case .isOther: "it is another kind of file: name one that does not exist"
    case .isOfOtherVersion: "it is a black box of another version: remove it"
    case .isInUse(System.processID): "another tap of this process has it: name another file"
    case .isInUse(let id): "process \(id.map { "\($0)" } ?? "of another kind") has it: name another file"
    case .isNoFile: "it is not a regular file: name one that does not exist"
    case .isOfAnotherUser: "it belongs to another user: remove it, or name another file"
    case .isShared: "others may write to it, or it has a second name: remove it"
    case .isOnDisk: "it is not on a tmpfs, such as /run or /dev/shm: a request would wait for the disk"
    case .isFull: "the file system has no room for its \(BlackBoxHeader.fileSize) bytes"
    case .tooMany: "the process has \(SharedMapping.limit) black boxes"
    case .isUnstable: "another process replaces it"
    case .cannotOpen(let failure): "it cannot be opened: \(failure)"
    }
  }
}
