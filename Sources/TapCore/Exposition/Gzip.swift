import TapLibc

/// Compression with the zlib that the system has, if it has one.
///
/// Loaded at run time: `zlib.h` is missing from several Swift images, and a server without zlib still answers. The
/// unsafe calls are all in this file. Functions and constants are those of zlib 1.2 (zlib.h), whose binary
/// interface `deflateInit2_` checks by the size of the stream.
package struct Gzip: Sendable {
  package static let system = Gzip()

  /// Whether the value of an `Accept-Encoding` header (RFC 9110, section 12.5.3) prefers gzip to a body as it is.
  package static func isPreferred(by acceptEncoding: String?) -> Bool {
    QualityList(acceptEncoding ?? "").prefersGzip
  }

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
  /// - Parameter level: 1 to 9. At 1 an exposition shrinks nine times in a third of the time that 6 takes for eleven.
  package func compress(_ bytes: [UInt8], level: Int32 = 1) -> [UInt8]? {
    var rest = bytes[...]
    var output: [UInt8] = []
    let isWhole = compress(level: level) { memory in
      let piece = rest.prefix(memory.count)
      memory.copyBytes(from: piece)
      rest = rest.dropFirst(piece.count)
      return piece.count
    } to: {
      output += $0
      return true
    }
    return isWhole ? output : nil
  }

  /// Compresses piece by piece. `false` if anything fails; what has been given out is then of no use. `next` gives how many bytes
  /// come next, 0 at the end, or `nil` if it fails, and `output` gives `false` if it does.
  package func compress(
    level: Int32, from next: (UnsafeMutableRawBufferPointer) -> Int?,
    to output: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    // At one address: zlib keeps it.
    let stream = UnsafeMutablePointer<Stream>.allocate(capacity: 1)
    stream.initialize(to: Stream())
    defer { stream.deallocate() }
    // 8 is deflate, and the usual memory; 15 the largest window, with 16 more for a gzip header instead of zlib's.
    guard deflateInit(stream, level, 8, 15 + 16, 8, 0, "1.2.0", Int32(MemoryLayout<Stream>.size)) == 0 else {
      return false
    }
    defer { _ = deflateEnd(stream) }
    return withUnsafeTemporaryAllocation(byteCount: 2 * Self.pieceLength, alignment: 8) { memory in
      let input = UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.pieceLength])
      let compressed = UnsafeMutableRawBufferPointer(rebasing: memory[Self.pieceLength...])
      while let count = next(input) {
        stream.pointee.input = input.baseAddress
        stream.pointee.inputLength = UInt32(truncatingIfNeeded: count)
        repeat {
          stream.pointee.output = compressed.baseAddress
          stream.pointee.outputCapacity = UInt32(truncatingIfNeeded: compressed.count)
          // 4 ends the stream (Z_FINISH), and it has ended with 1 (Z_STREAM_END).
          let result = deflate(stream, count == 0 ? 4 : 0)
          let length = compressed.count - Int(stream.pointee.outputCapacity)
          guard output(UnsafeRawBufferPointer(rebasing: compressed[..<length])) else { return false }
          if result == 1 { return true }
          // To have had nothing to do is no error (-5, Z_BUF_ERROR), but at the end.
          guard result >= 0 || result == -5, count > 0 || stream.pointee.outputCapacity == 0 else {
            return false
          }
        } while stream.pointee.outputCapacity == 0
      }
      return false
    }
  }

  private static let pieceLength = 65_536

  private typealias DeflateInit =
    @convention(c) (UnsafeMutableRawPointer, Int32, Int32, Int32, Int32, Int32, UnsafePointer<CChar>, Int32)
    -> Int32
  private typealias Deflate = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
  private typealias DeflateEnd = @convention(c) (UnsafeMutableRawPointer) -> Int32

  /// `z_stream`
  private struct Stream {
    var input: UnsafeMutableRawPointer?
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
