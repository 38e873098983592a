import TapEndpoint

/// What a parser makes of the text, given in pieces that end at the offsets.
func events(
  of text: String, splitAt offsets: [Int] = [], limits: Endpoint.Configuration.Limits = .init()
) -> [Result<EndpointRequest, RequestParser.Failure>] {
  events(of: Array(text.utf8), splitAt: offsets, limits: limits)
}

func events(
  of bytes: [UInt8], splitAt offsets: [Int] = [], limits: Endpoint.Configuration.Limits = .init()
) -> [Result<EndpointRequest, RequestParser.Failure>] {
  var parser = RequestParser(limits: limits)
  var events: [Result<EndpointRequest, RequestParser.Failure>] = []
  var start = 0
  for end in offsets + [bytes.count] {
    var input = bytes[start..<end]
    while !input.isEmpty { if let event = parser.next(from: &input) { events.append(event) } }
    start = end
  }
  return events
}

func onlyRequest(in text: String) -> EndpointRequest? {
  guard case .success(let request)? = events(of: text).first else { return nil }
  return request
}
