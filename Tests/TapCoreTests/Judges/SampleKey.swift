/// What makes a sample one of its kind.
struct SampleKey: Hashable {
  var name: String
  var labels: [String: String]
}
