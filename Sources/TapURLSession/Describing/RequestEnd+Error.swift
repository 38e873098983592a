import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestEnd {
  /// The end that an error stands for: a cancel is one, and no failure.
  init(_ error: any Error, statusCode: Int?) {
    if let error = error as? URLError, error.code == .cancelled {
      self = .cancelled
    } else {
      self = .failure(RequestErrorType(error), statusCode: statusCode)
    }
  }
}
