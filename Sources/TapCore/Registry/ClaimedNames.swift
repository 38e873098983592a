/// The names that the families of a registry take.
struct ClaimedNames: Sendable {
  private var names: Set<String> = []

  /// Adds the names of families that come together. Throws for the first name that another family has, one of these or one that
  /// was there, and then adds none.
  mutating func add(_ descriptors: [FamilyDescriptor]) throws(RegistryError) {
    var new: Set<String> = []
    for descriptor in descriptors {
      for name in descriptor.claims where names.contains(name) || !new.insert(name).inserted {
        throw RegistryError(.nameTaken, metric: descriptor.name, detail: name)
      }
    }
    names.formUnion(new)
  }
}
