/// A change of one expression or statement, as two texts around what is there. Both mutants and the original
/// are then in one program, and changes may lie within each other.
struct Mutation: Encodable {
  let file: String
  let line: Int
  let kind: String
  /// What the change concerns, and what it becomes.
  let before: String
  let after: String
  /// Where the texts go, in bytes from the file's start. `#` is the mutant's number.
  let start: Int
  let end: Int
  let opening: String
  let closing: String
}
