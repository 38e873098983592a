/// One metric of a table.
struct SeriesColumn: Sendable {
  let descriptor: FamilyDescriptor
  let dropped = DroppedValues()
}
