#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Compression with the zlib that the system has, if it has one.
///
/// Loaded at run time: `zlib.h` is missing from several Swift images, and a server without zlib still answers. The
/// unsafe calls are all in this file. Functions and constants are those of zlib 1.2 (zlib.h), whose binary
/// interface `deflateInit2_` checks by the size of the stream.
package struct Gzip: Sendable {
  /// The system's zlib, or `nil` where there is none.
  package static let system = Gzip()

  private let deflateInit: DeflateInit
  private let deflateBound: DeflateBound
  private let deflate: Deflate
  private let deflateEnd: DeflateEnd
  private let gzopen: OpenFile
  private let gzwrite: WriteFile
  private let gzclose: CloseFile

  private init?() {
    // The offsets below are those of a 64-bit system.
    guard MemoryLayout<Int>.size == 8, let library = dlopen(Self.libraryName, RTLD_NOW | RTLD_LOCAL),
      let initialize = dlsym(library, "deflateInit2_"), let bound = dlsym(library, "deflateBound"),
      let deflate = dlsym(library, "deflate"), let end = dlsym(library, "deflateEnd"),
      let open = dlsym(library, "gzopen"), let write = dlsym(library, "gzwrite"),
      let close = dlsym(library, "gzclose")
    else { return nil }
    deflateInit = unsafeBitCast(initialize, to: DeflateInit.self)
    deflateBound = unsafeBitCast(bound, to: DeflateBound.self)
    self.deflate = unsafeBitCast(deflate, to: Deflate.self)
    deflateEnd = unsafeBitCast(end, to: DeflateEnd.self)
    gzopen = unsafeBitCast(open, to: OpenFile.self)
    gzwrite = unsafeBitCast(write, to: WriteFile.self)
    gzclose = unsafeBitCast(close, to: CloseFile.self)
  }

  /// The bytes in gzip format (RFC 1952), or `nil` if they are too many for one call or memory ran out.
  ///
  /// Level 1: an exposition shrinks nine times in a third of the time that level 6 takes for eleven.
  func compress(_ bytes: [UInt8]) -> [UInt8]? {
    let stream = UnsafeMutableRawPointer.allocate(byteCount: Stream.size, alignment: 16)
    stream.initializeMemory(as: UInt8.self, repeating: 0, count: Stream.size)
    defer { stream.deallocate() }
    guard let length = UInt32(exactly: bytes.count),
      deflateInit(
        stream, 1, Stream.deflated, Stream.gzipWindow, Stream.memoryLevel, Stream.defaultStrategy, "1.2.0",
        Int32(Stream.size)) == Stream.ok
    else { return nil }
    defer { _ = deflateEnd(stream) }
    guard let capacity = UInt32(exactly: deflateBound(stream, UInt(length))) else { return nil }
    return bytes.withUnsafeBytes { input in
      var isWhole = false
      let output = [UInt8](unsafeUninitializedCapacity: Int(capacity)) { output, count in
        stream.storeBytes(of: input.baseAddress, toByteOffset: Stream.nextIn, as: UnsafeRawPointer?.self)
        stream.storeBytes(of: length, toByteOffset: Stream.availableIn, as: UInt32.self)
        stream.storeBytes(
          of: output.baseAddress, toByteOffset: Stream.nextOut, as: UnsafeMutablePointer<UInt8>?.self)
        stream.storeBytes(of: capacity, toByteOffset: Stream.availableOut, as: UInt32.self)
        isWhole = deflate(stream, Stream.finish) == Stream.end
        let left = stream.load(fromByteOffset: Stream.availableOut, as: UInt32.self)
        count = Int(capacity) - Int(min(left, capacity))
      }
      return isWhole ? output : nil
    }
  }

  /// Writes a file in the same format, piece by piece. `false` if anything fails; the file is then of no use.
  ///
  /// - Parameter next: Gives the next bytes: how many, 0 at the end, `nil` if it fails.
  package func writeFile(_ path: String, next: (UnsafeMutableRawBufferPointer) -> Int?) -> Bool {
    guard let file = gzopen(path, "wb6") else { return false }
    let isWhole = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { memory -> Bool in
      guard let base = memory.baseAddress else { return false }
      while true {
        guard let count = next(memory) else { return false }
        if count == 0 { return true }
        guard gzwrite(file, base, UInt32(truncatingIfNeeded: count)) == Int32(truncatingIfNeeded: count)
        else {
          return false
        }
      }
    }
    // Closing writes the last block and can fail too.
    return gzclose(file) == Stream.ok && isWhole
  }

  private static var libraryName: String {
    #if canImport(Darwin)
      "libz.1.dylib"
    #else
      "libz.so.1"
    #endif
  }

  private typealias DeflateInit =
    @convention(c) (
      UnsafeMutableRawPointer, Int32, Int32, Int32, Int32, Int32, UnsafePointer<CChar>, Int32
    ) -> Int32
  private typealias DeflateBound = @convention(c) (UnsafeMutableRawPointer, UInt) -> UInt
  private typealias Deflate = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
  private typealias DeflateEnd = @convention(c) (UnsafeMutableRawPointer) -> Int32

  private typealias OpenFile = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> OpaquePointer?
  private typealias WriteFile = @convention(c) (OpaquePointer, UnsafeRawPointer, UInt32) -> Int32
  private typealias CloseFile = @convention(c) (OpaquePointer) -> Int32

  /// `z_stream` and the constants that go with it.
  private enum Stream {
    static let size = 112
    static let nextIn = 0
    static let availableIn = 8
    static let nextOut = 24
    static let availableOut = 32

    static let ok: Int32 = 0
    static let end: Int32 = 1
    static let finish: Int32 = 4
    static let deflated: Int32 = 8
    /// The largest window, and 16 for a gzip header instead of zlib's.
    static let gzipWindow: Int32 = 15 + 16
    static let memoryLevel: Int32 = 8
    static let defaultStrategy: Int32 = 0
  }
}
