import TapCore
import TapFoundation

extension RequestErrorType {
  /// Classifies the error that a loader reported.
  ///
  /// Foundation on Linux translates few of libcurl's results and reports the others as `unknown`; the text of
  /// such an error is libcurl's own (`MultiHandle.swift` of swift-corelibs-foundation), and is read here.
  init(_ error: any Error) {
    guard let error = error as? URLError else {
      self = .other
      return
    }
    self = Self.byCode[error.code] ?? Self(curlMessage: error.curlMessage)
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
    let lowercased = message.lowercased()
    let match = Self.byWord.first { word, _ in lowercased.contains(word) }
    self = match?.type ?? .other
  }

  /// In order: the first word found decides.
  private static let byWord: [(word: String, type: RequestErrorType)] = [
    // Of HTTP/2; what follows may contain any of the other words.
    ("not closed cleanly", .connectionLost), ("framing layer", .connectionLost),
    ("ssl", .tls), ("certificate", .tls), ("tls", .tls),
    ("timed out", .timeout), ("timeout", .timeout),
    ("resolve", .dns),
    ("connect to server", .connect), ("failed to connect", .connect),
    ("encoding", .body), ("decompress", .body), ("read function", .body),
    ("reset", .connectionLost), ("partial file", .connectionLost), ("transfer closed", .connectionLost),
    ("when receiving", .connectionLost), ("recv failure", .connectionLost),
    ("when sending", .connectionLost), ("send failure", .connectionLost), ("broken pipe", .connectionLost),
    ("outstanding read data remaining", .connectionLost),
  ]
}

extension URLError {
  /// What libcurl said: the loader keeps it in the underlying error.
  var curlMessage: String {
    (errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription ?? localizedDescription
  }
}
