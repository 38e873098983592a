/// What a family tells about itself.
struct FamilyStatistics: Sendable, Hashable {
  let metric: String
  /// `nil` where the family has never been asked for labels.
  let overflowCount: UInt64?
  let droppedCount: UInt64
}
