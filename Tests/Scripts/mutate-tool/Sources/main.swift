import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

// usage: mutate-tool FILE...      prints every change as a line of JSON
let encoder = JSONEncoder()
encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
for path in CommandLine.arguments.dropFirst() {
  let parsed = Parser.parse(source: try String(contentsOfFile: path, encoding: .utf8))
  // An operator of the package's own stays unfolded, and unchanged.
  let folded = OperatorTable.standardOperators.foldAll(parsed) { _ in }
  let finder = MutationFinder(path: path, tree: folded)
  finder.walk(folded)
  for mutation in finder.mutations { print(String(decoding: try encoder.encode(mutation), as: UTF8.self)) }
}
