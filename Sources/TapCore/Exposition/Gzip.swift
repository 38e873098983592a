import TapLibc

/// Compression with the zlib that the system has, if it has one.
///
/// Loaded at run time: `zlib.h` is missing from several Swift images, and a server without zlib still
/// answers. The unsafe calls are all in this file. Functions and constants are those of zlib 1.2 (zlib.h),
/// whose binary interface `deflateInit2_` checks by the size of the stream.
package struct Gzip: Sendable {
  package static let system = Gzip()

  private let deflateInit: DeflateInit
  private let deflate: Deflate
  private let deflateEnd: DeflateEnd

  private init?() {
    #if canImport(Darwin)
      let name = "libz.1.dylib"
    #else
      let name = "libz.so.1"
    #endif
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL), let initialize = dlsym(library, "deflateInit2_"),
      let deflate = dlsym(library, "deflate"), let end = dlsym(library, "deflateEnd")
    else { return nil }
    deflateInit = unsafeBitCast(initialize, to: DeflateInit.self)
    self.deflate = unsafeBitCast(deflate, to: Deflate.self)
    deflateEnd = unsafeBitCast(end, to: DeflateEnd.self)
  }

  /// The bytes in gzip format (RFC 1952), or `nil` if memory ran out.
  ///
  /// - Parameter level: 1 to 9. At 1 an exposition shrinks nine times in a third of the time that 6 takes for
  ///   eleven.
  package func compress(_ bytes: [UInt8], level: Int32 = 1) -> [UInt8]? {
    guard var compressor = Compressor(self, level: level) else { return nil }
    compressor.write(bytes)
    return compressor.finish()
  }

  /// Compresses piece by piece.
  struct Compressor: ~Copyable {
    private let gzip: Gzip
    /// At one address: zlib keeps it.
    private let stream = UnsafeMutablePointer<Stream>.allocate(capacity: 1)
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 8)
    /// `nil` if memory ran out.
    private var output: [UInt8]? = []

    init?(_ gzip: Gzip, level: Int32 = 1) {
      self.gzip = gzip
      stream.initialize(to: Stream())
      // 8 is deflate, and the default memory level. 15 is the largest window; 16 more ask for a gzip header.
      let size = Int32(MemoryLayout<Stream>.size)
      guard gzip.deflateInit(stream, level, 8, 15 + 16, 8, 0, "1.2.0", size) == 0 else { return nil }
    }

    deinit {
      // Does nothing to a stream that was not begun.
      _ = gzip.deflateEnd(stream)
      stream.deallocate()
      memory.deallocate()
    }

    mutating func write(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { bytes in
        // zlib counts in 32 bits.
        for start in stride(from: 0, to: bytes.count, by: 1 << 30) {
          deflate(UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + 1 << 30)]))
        }
      }
    }

    /// - Returns: The whole in gzip format, or `nil` if memory ran out.
    consuming func finish() -> [UInt8]? {
      deflate(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
      return output
    }

    private mutating func deflate(_ piece: UnsafeRawBufferPointer, isLast: Bool = false) {
      stream.pointee.input = piece.baseAddress
      stream.pointee.inputLength = UInt32(truncatingIfNeeded: piece.count)
      while output != nil {
        stream.pointee.output = memory.baseAddress
        stream.pointee.outputCapacity = UInt32(truncatingIfNeeded: memory.count)
        // 4 ends the stream (Z_FINISH), and it has ended with 1 (Z_STREAM_END).
        let result = gzip.deflate(stream, isLast ? 4 : 0)
        output?.append(contentsOf: memory[..<(memory.count - Int(stream.pointee.outputCapacity))])
        if result == 1 { return }
        if stream.pointee.outputCapacity == 0 { continue }
        // Nothing to do (-5, Z_BUF_ERROR) is an error only at the end.
        if isLast || result < 0 && result != -5 { output = nil }
        return
      }
    }
  }

  private typealias DeflateInit =
    @convention(c) (UnsafeMutableRawPointer, Int32, Int32, Int32, Int32, Int32, UnsafePointer<CChar>, Int32)
    -> Int32
  private typealias Deflate = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
  private typealias DeflateEnd = @convention(c) (UnsafeMutableRawPointer) -> Int32

  /// `z_stream`
  private struct Stream {
    var input: UnsafeRawPointer?
    var inputLength: UInt32 = 0
    var inputTotal: UInt = 0
    var output: UnsafeMutableRawPointer?
    var outputCapacity: UInt32 = 0
    var outputTotal: UInt = 0
    var message, state, allocate, free, opaque: UnsafeRawPointer?
    var dataType: Int32 = 0
    var checksum: UInt = 0
    var reserved: UInt = 0
  }
}
