extension Registry {
  typealias Renderer<Key> = @Sendable (Key) -> RenderedLabels

  func counters<Key>(
    _ descriptor: FamilyDescriptor, _ options: SeriesOptions, render: @escaping Renderer<Key>
  ) throws(RegistryError) -> Family<Key, Counter> {
    try source(descriptor) {
      let dropped = DroppedValues()
      return Family(descriptor: descriptor, options: options, dropped: dropped, render: render) {
        Counter(dropped: dropped)
      }
    }
  }

  func gauges<Key>(
    _ descriptor: FamilyDescriptor, _ options: SeriesOptions, render: @escaping Renderer<Key>
  ) throws(RegistryError) -> Family<Key, Gauge> {
    try source(descriptor) {
      Family(descriptor: descriptor, options: options, dropped: DroppedValues(), render: render) { Gauge() }
    }
  }

  func histograms<Key>(
    _ descriptor: FamilyDescriptor, _ buckets: HistogramBuckets, _ options: SeriesOptions,
    render: @escaping Renderer<Key>
  ) throws(RegistryError) -> Family<Key, Histogram> {
    guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: descriptor.name) }
    let histograms: Family<Key, Histogram> = try source(descriptor) {
      let dropped = DroppedValues()
      let layout = BucketLayout(buckets)
      return Family(
        descriptor: descriptor, options: options, dropped: dropped, buckets: buckets, render: render
      ) {
        Histogram(layout: layout, dropped: dropped)
      }
    }
    guard histograms.buckets == buckets else {
      throw RegistryError(.conflictingBuckets, metric: descriptor.name)
    }
    return histograms
  }
}
