import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SessionTap

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension RequestErrorType {
  /// What the client, NIO or BoringSSL threw; `nil` for an error of another library's, such as of the stream
  /// of a body.
  init?(_ error: any Error) {
    switch error {
    case let error as HTTPClientError:
      self = Self.kinds.first { $1.contains { $0.shortDescription == error.shortDescription } }?.0 ?? .other
    case let error as NIOConnectionError: self = error.connectionErrors.isEmpty ? .dns : .connect
    case let error as IOError where [ECONNREFUSED, ENOENT].contains(error.errnoCode): self = .connect
    case NIOSSLError.uncleanShutdown, is IOError, is ChannelError, is HTTPParserError: self = .connectionLost
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: self = .tls
    default: return nil
    }
  }

  private static let kinds: [(RequestErrorType, [HTTPClientError])] = [
    (.timeout, [.readTimeout, .writeTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout]),
    (.timeout, [.connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout]),
    (.connect, [.invalidProxyResponse, .proxyAuthenticationRequired]),
    (.body, [.bodyLengthMismatch]),
    (.connectionLost, [.remoteConnectionClosed]),
    (.tooManyRedirects, [.redirectLimitReached, .redirectCycleDetected]),
    (.unsupportedURL, [.invalidURL, .emptyHost, .emptyScheme, .missingSocketPath, .unsupportedScheme("")]),
  ]
}
