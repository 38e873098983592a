extension Registry {
  /// Writes all metrics in the format that a scraper prefers.
  ///
  /// Families are in the order of their names, series in the order of their label values. No lock is held while
  /// bytes are written.
  ///
  /// - Parameter accept: the value of the request's `Accept` header; text 0.0.4 where there is none.
  public func exposition(accept: String? = nil) -> Exposition {
    exposition(in: ExpositionFormat(accept: accept))
  }

  /// Writes metrics in one format.
  ///
  /// - Parameters:
  ///   - format: the format.
  ///   - names: names of families, or of samples such as `x_seconds_count`, to which the exposition is limited.
  ///     `nil` stands for all; a name that there is not is ignored.
  public func exposition(in format: ExpositionFormat, names: Set<String>? = nil) -> Exposition {
    Exposition(of: gather(), in: format, names: names)
  }

  /// Writes all metrics in one format in place of what the buffer holds, whose capacity is used again.
  ///
  /// - Parameters:
  ///   - format: the format.
  ///   - buffer: takes the exposition. To keep one and pass it again saves an allocation for each scrape.
  public func write(_ format: ExpositionFormat, into buffer: inout [UInt8]) {
    Exposition.write(gather(), in: format, to: &buffer)
  }
}
