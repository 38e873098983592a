/// The sessions of the demo, by the name that is given to the factory.
enum DemoClient: String, CaseIterable {
  case catalogue, accounts, warehouse
}
