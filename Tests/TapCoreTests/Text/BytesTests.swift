import TestSupport

struct ASCIITests {
  private let bytes = Array(UInt8.min...UInt8.max)

  @Test func `letters, digits and lower case are those of ASCII alone`() {
    let upper = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    let lower = Array("abcdefghijklmnopqrstuvwxyz".utf8)
    let found = [bytes.filter(\.isASCIIDigit), bytes.filter(\.isASCIILetter)]
    expectEqual(found, [Array("0123456789".utf8), upper + lower])
    expectEqual(bytes.filter { $0.asciiLowercased != $0 }, upper)
    expectEqual(upper.map(\.asciiLowercased), lower)
  }

  @Test(arguments: [0, 1, 2, 3, 4, 256])
  func `base64 is that of Foundation`(count: Int) {
    let text = String(decoding: bytes.prefix(count).base64, as: UTF8.self)
    #expect(text == Data(bytes.prefix(count)).base64EncodedString())
  }
}
