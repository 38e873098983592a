import Foundation

/// The cores of the machine.
enum Cores {
  static var count: Int { ProcessInfo.processInfo.activeProcessorCount }
}
