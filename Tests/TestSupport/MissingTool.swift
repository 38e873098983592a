/// A program that a test needs is not installed.
package struct MissingTool: Error, CustomStringConvertible {
  package var name: String
  package var description: String { "\(name) is not installed" }
}
