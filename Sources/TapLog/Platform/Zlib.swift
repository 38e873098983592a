#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The system's zlib, found at run time: many images have the library and no header, and some have neither.
struct Zlib: Sendable {
  private typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> OpaquePointer?
  private typealias Write = @convention(c) (OpaquePointer, UnsafeRawPointer, UInt32) -> Int32
  private typealias Close = @convention(c) (OpaquePointer) -> Int32

  private let open: Open
  private let write: Write
  private let close: Close

  /// `nil` where there is no zlib.
  static let shared = Zlib()

  private init?() {
    #if canImport(Darwin)
      let name = "libz.1.dylib"
    #else
      let name = "libz.so.1"
    #endif
    guard let library = dlopen(name, RTLD_NOW), let open = dlsym(library, "gzopen"),
      let write = dlsym(library, "gzwrite"), let close = dlsym(library, "gzclose")
    else { return nil }
    self.open = unsafeBitCast(open, to: Open.self)
    self.write = unsafeBitCast(write, to: Write.self)
    self.close = unsafeBitCast(close, to: Close.self)
  }

  /// Writes a file in gzip's format beside the original. `false` if anything fails; the target is then of no use.
  func compress(_ path: String, to target: String) -> Bool {
    let source = System.openForReading(path)
    guard source >= 0 else { return false }
    defer { System.close(source) }
    guard let file = open(target, "wb6") else { return false }
    let size = 65_536
    let isWhole = withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { memory -> Bool in
      guard let base = memory.baseAddress else { return false }
      while true {
        guard let count = try? System.read(source, into: base, count: size) else { return false }
        if count == 0 { return true }
        guard write(file, base, UInt32(truncatingIfNeeded: count)) == Int32(truncatingIfNeeded: count) else {
          return false
        }
      }
    }
    // Z_OK is 0; closing writes the last block and can fail too.
    return close(file) == 0 && isWhole
  }
}
