package import TapCore
package import TapEndpoint

extension EndpointRoute {
  /// What is wrong, a line each, the worst first: as text, or as JSON with `Accept: application/json`. It
  /// tells no more than the metrics, and is served like them.
  ///
  /// `seconds` in the query is the time that counts as now, up to 600.
  package static func why(_ recorder: RequestRecorder) -> EndpointRoute {
    let answers = PageAnswers()
    return .onThreads("/why", isPublic: true) { request in
      let text = request.queryItems.last { $0.name == "seconds" }?.value ?? "30"
      guard let seconds = Int(text), (5...600).contains(seconds) else {
        return .refusal(400, "seconds must be a number from 5 to 600")
      }
      let isJSON = prefersJSON(request.headers.combined("Accept"))
      let bytes = answers.bytes(for: "\(seconds) \(isJSON)", at: .now) {
        let diagnosis = Diagnosis(Evidence(recorder, at: .now), span: Double(seconds))
        return isJSON ? "\(diagnosis.json)\n" : diagnosis.text
      }
      var response = EndpointResponse.uncached(
        isJSON ? "application/json" : "text/plain; charset=utf-8", bytes)
      response.headers["Vary"] = "Accept"
      return response
    }
  }

  /// RFC 9110, section 12.5.1. Text unless JSON is named, and has no less weight.
  private static func prefersJSON(_ accept: String?) -> Bool {
    let json = AcceptedItem.weight(of: "application/json", in: accept) ?? 0
    return json > 0 && json >= AcceptedItem.weight(of: "text/plain", in: accept) ?? 0
  }
}
