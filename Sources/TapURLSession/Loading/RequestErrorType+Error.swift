import TapCore
import TapFoundation

extension RequestErrorType {
  /// Classifies the error that a loader reported.
  ///
  /// Foundation on Linux translates few of libcurl's results and reports the others as `unknown`; the text of
  /// such an error is libcurl's own (`MultiHandle.swift` of swift-corelibs-foundation), and is read here.
  init(_ error: any Error) {
    let error = error as? URLError
    let ofWords = Self(curlMessage: error?.curlMessage ?? "")
    // Foundation calls an answer that is no HTTP an unsupported URL (`urlErrorCode(for:)`).
    if ofWords == .invalidResponse {
      self = ofWords
    } else {
      self = error.flatMap { Self.byCode[$0.code] } ?? ofWords
    }
  }

  private static let byCode: [URLError.Code: RequestErrorType] = [
    .timedOut: .timeout,
    .cannotFindHost: .dns, .dnsLookupFailed: .dns,
    .cannotConnectToHost: .connect, .notConnectedToInternet: .connect,
    .networkConnectionLost: .connectionLost, .badServerResponse: .connectionLost,
    .secureConnectionFailed: .tls, .serverCertificateHasBadDate: .tls, .serverCertificateUntrusted: .tls,
    .serverCertificateHasUnknownRoot: .tls, .serverCertificateNotYetValid: .tls,
    .clientCertificateRejected: .tls, .clientCertificateRequired: .tls,
    .httpTooManyRedirects: .tooManyRedirects,
    .cannotDecodeRawData: .body, .cannotDecodeContentData: .body, .dataLengthExceedsMaximum: .body,
    .requestBodyStreamExhausted: .body, .fileDoesNotExist: .body, .fileIsDirectory: .body,
    .noPermissionsToReadFile: .body, .cannotCreateFile: .body, .cannotOpenFile: .body,
    .cannotWriteToFile: .body, .cannotCloseFile: .body, .cannotMoveFile: .body, .cannotRemoveFile: .body,
    .unsupportedURL: .unsupportedURL, .badURL: .unsupportedURL,
  ]

  /// Classifies by libcurl's words (`curl_easy_strerror` and its error buffer).
  init(curlMessage message: String) {
    let message = message.lowercased()
    let found =
      Self.byBegin.first { message.hasPrefix($0.words) } ?? Self.byWord.first { message.contains($0.words) }
    self = found?.type ?? .other
  }

  /// Texts that decide at the start of a message: a host, a URL or a text of the server may follow.
  private static let byBegin: [(words: String, type: RequestErrorType)] = [
    ("could not resolve", .dns), ("couldn't resolve", .dns), ("failed to resolve host", .timeout),
    ("failed to connect to", .connect), ("quic: connection to", .connect),
    // A proxy that makes no tunnel: before libcurl 7.88, since then, and with HTTP/2.
    ("received http code", .connect), ("connect tunnel failed", .connect),
    ("proxy connect aborted", .connect),
    ("failed sending connect to proxy", .connect), ("connect response too large", .connect),
    ("unsupported proxy", .other), ("the redirect target url", .other),
    ("received http/0.9", .invalidResponse), ("unsupported http", .invalidResponse),
    ("unsupported response code", .invalidResponse), ("invalid status line", .invalidResponse),
    ("header without colon", .invalidResponse), ("nul byte in header", .invalidResponse),
    ("invalid content-length", .invalidResponse), ("invalid response header", .invalidResponse),
    ("multiple location headers", .invalidResponse), ("too large response headers", .invalidResponse),
    ("too many response headers", .invalidResponse), ("weird server reply", .invalidResponse),
    // Before 8.7: Foundation has refused it. Since then libcurl says the same of a body.
    ("failed writing header", .invalidResponse),
  ]

  /// In order: the first words found decide.
  private static let byWord: [(words: String, type: RequestErrorType)] = [
    // Of HTTP/2; what follows may contain any of the other words.
    ("not closed cleanly", .connectionLost), ("framing layer", .connectionLost),
    ("ssl", .tls), ("certificate", .tls), ("tls", .tls),
    ("timed out", .timeout), ("timeout", .timeout),
    ("resolve", .dns),
    ("connect to server", .connect), ("failed to connect", .connect),
    ("encoding", .body), ("chunk", .body), ("decompress", .body), ("read function", .body),
    ("reset", .connectionLost), ("partial file", .connectionLost), ("transfer closed", .connectionLost),
    ("bytes missing", .connectionLost),
    ("when receiving", .connectionLost), ("recv failure", .connectionLost),
    ("sending data", .connectionLost), ("send failure", .connectionLost), ("broken pipe", .connectionLost),
    ("outstanding read data remaining", .connectionLost),
  ]
}

extension URLError {
  /// libcurl's text, which the loader keeps in the underlying error. `nil` for a time-out of Foundation's
  /// own.
  var curlMessage: String? {
    let info = (errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.userInfo ?? errorUserInfo
    return info[NSLocalizedDescriptionKey] as? String
  }

  /// Which time-out passed, and after how long.
  func timeoutMessage(_ timeout: CurlInfo.Timeout?, hasHead: Bool) -> String? {
    guard code == .timedOut, let timeout else { return nil }
    let (whole, what) = (timeout.seconds.rounded(.towardZero), hasHead ? "no data for" : "no response within")
    let rest =
      whole == timeout.seconds ? "" : " of \(timeout.seconds) s, which Foundation cuts to whole seconds"
    return "\(what) \(whole) s: \(timeout.setting)\(rest)"
  }
}
