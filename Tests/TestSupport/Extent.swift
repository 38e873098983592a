/// How much the long tests do. They are small at home; where `TESTS_EXTENSIVE` is `1`, they do all they can.
package enum Extent {
  package static let isExtensive = ProcessInfo.processInfo.environment["TESTS_EXTENSIVE"] == "1"

  /// Where `TESTS_ALONE` is `1`, the tests run that need a machine of their own: what they judge is how long
  /// requests take.
  package static let isAlone = ProcessInfo.processInfo.environment["TESTS_ALONE"] == "1"

  /// The rounds, threads or bytes of a test.
  package static func of(_ usual: Int, extensive: Int) -> Int { isExtensive ? extensive : usual }
}
