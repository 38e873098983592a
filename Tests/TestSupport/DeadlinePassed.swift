/// What a test waited for did not happen in time.
package struct DeadlinePassed: Error, CustomStringConvertible {
  package var what: String
  package var seconds: Double
  package var description: String { "no \(what) within \(seconds) s" }
}
